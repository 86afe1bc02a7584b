/** What is answered to a call. */
export type ApiAnswer = { readonly status: number; readonly body: unknown };

export function answer(status: number, body: unknown): ApiAnswer {
  return { status, body };
}

/** There is no such thing; 400 when it was named by a parameter, as Stripe has it. */
export function missing(param: string, kind: string, id: string): ApiAnswer {
  const message = `No such ${kind}: '${id}'`;
  const error = { type: 'invalid_request_error', code: 'resource_missing', param, message };
  return answer(param === 'id' ? 404 : 400, { error });
}

export function invalid(param: string, message: string): ApiAnswer {
  return answer(400, { error: { type: 'invalid_request_error', param, message } });
}

/** A failure that has nothing to do with what was asked for. */
export function failure(status: number): ApiAnswer {
  const type = status >= 500 ? 'api_error' : 'invalid_request_error';
  return answer(status, { error: { type, message: `Answered ${status} on purpose.` } });
}
