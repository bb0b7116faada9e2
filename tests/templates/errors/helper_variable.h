/* error: 2:1: error: 'calls' is a variable: what is emitted has constants only */
static int calls;
