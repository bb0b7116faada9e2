/* error: 'sum_of_two' is declared in a form that is not read here */
#ifndef FUNCTION_WITHOUT_STATIC_H
#define FUNCTION_WITHOUT_STATIC_H
inline float sum_of_two(float a, float b)
{
    return a + b;
}
#endif
