/* error: 5:12: error: 'twice' uses macro 'TWO' of its header, which is not copied with it */
#define TWO 2
static inline int twice(int x)
{
    return TWO * x;
}
