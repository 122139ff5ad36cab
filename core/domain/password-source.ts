// Where the service user's password is from. It may be rotated while the process runs.

export interface PasswordSource {
  /** Read once, and kept. @throws ServiceUnavailable */
  current(): Promise<string>;
  /**
   * Passwords to use in place of one that was refused, or that opens nothing: the secret as it is
   * now, and the next one of a rotation that has not ended. Empty if there is no other.
   */
  others(refused: string): AsyncIterable<string>;
  /** The password that was accepted. */
  keep(accepted: string): void;
}
