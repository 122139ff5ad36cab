/**
 * No row has the marker's uuid. In a file of its own: a function without tables knows the error,
 * and its bundle has no client of DynamoDB.
 */
export class MarkerNotFound extends Error {
  override readonly name = 'MarkerNotFound';
}
