/* error: an embedded header needs an include guard */
static inline float twice(float a)
{
    return 2.0f * a;
}
