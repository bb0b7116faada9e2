// Types of elements: ONNX's number, ONNX's name, and what JavaScript keeps them in.
const types = [
  [1, 'float32', Float32Array], [2, 'uint8', Uint8Array], [3, 'int8', Int8Array], [4, 'uint16', Uint16Array],
  [5, 'int16', Int16Array], [6, 'int32', Int32Array], [7, 'int64', BigInt64Array], [9, 'bool', Uint8Array],
  [11, 'float64', Float64Array], [12, 'uint32', Uint32Array], [13, 'uint64', BigUint64Array],
].map(([number, type, Elements]) => ({ number, type, Elements }));

// By number or name; undefined for any other.
export const typeOf = key => types.find(({ number, type }) => key === number || key === type);

// A batch gives a tensor plain numbers, or elements as they are. An error says what does not fit.
export function elementsFor(feeds, name, key, count) {
  const values = feeds[name], { Elements } = typeOf(key) ?? {};
  if (values === undefined) throw Error(`the model takes '${name}', which the batch does not have`);
  if (Elements === undefined) throw Error(`'${name}' has elements of type ${key}, which this page does not know`);
  if (values.length !== count) throw Error(`'${name}' has ${values.length} elements in the batch, ${count} in the model`);
  return values instanceof Elements ? values : Elements.from(values, Elements.name.startsWith('Big') ? BigInt : Number);
}
