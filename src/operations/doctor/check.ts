import { InstepError } from '../../runtime/errors.ts';

/** What was looked at, and how it stands. */
export type Check = {
  /** What was looked at, in a word or two. */
  readonly name: string;
  /** A warning works for now, or could not be looked at; a failure costs something. */
  readonly state: 'ok' | 'warning' | 'failure';
  readonly says: string;
  /** `null` when there is nothing to do. */
  readonly whatToDo: string | null;
};

export function ok(name: string, says: string): Check {
  return { name, state: 'ok', says, whatToDo: null };
}

export function warning(name: string, says: string, whatToDo: string): Check {
  return { name, state: 'warning', says, whatToDo };
}

export function failure(name: string, says: string, whatToDo: string): Check {
  return { name, state: 'failure', says, whatToDo };
}

/** What an error says that was thrown on purpose; any other is a defect, and thrown again. */
export function failureOf(name: string, error: unknown, whatToDo: string): Check {
  if (!(error instanceof InstepError)) throw error;
  return failure(name, error.message, whatToDo);
}

/** What `look` finds, or how it failed. */
export async function safely(
  name: string,
  whatToDo: string,
  look: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await look();
  } catch (error) {
    return [failureOf(name, error, whatToDo)];
  }
}
