// The base of all errors. Each class has its own code.

/**
 * The base of every error that Instep throws on purpose. `code` is stable: branch on it, never on the message. The message
 * says what to do and never contains a secret.
 */
export abstract class InstepError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An error with one of several codes. */
export abstract class CodedError<Code extends string> extends InstepError {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const MAX_TEXT_LENGTH = 4_000;

/**
 * The text of anything that the app's code can throw. It never throws itself: a message can be an object, and an object
 * can have no text at all.
 */
export function errorText(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown).slice(0, MAX_TEXT_LENGTH);
  } catch {
    return 'an error without a text';
  }
}

/** The code of an error, which can be Node's or a package's; `null` when it has none. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
