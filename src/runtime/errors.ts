/**
 * The base of every error that Instep throws on purpose. `code` is stable: branch on it, never on
 * the message. The message says what to do and never holds a secret.
 */
export abstract class InstepError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
