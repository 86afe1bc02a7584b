import { InstepError } from './errors.ts';

/** Something took longer than it may. It may still end well, unheard. */
export class DeadlineExceeded extends InstepError {
  readonly code = 'DEADLINE_EXCEEDED';
}

/** The promise's own end, or `DeadlineExceeded` after `deadlineMs`. It cancels nothing. */
export async function withDeadline<Value>(
  promise: Promise<Value>,
  deadlineMs: number,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineExceeded(`not done within ${deadlineMs} ms`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
