/* error: 3:1: error: 'index_of' is defined twice */
typedef int index_of;
typedef int index_of;
