export type ApiResponse = { readonly status: number; readonly body: unknown };

export function ok(body: unknown): ApiResponse {
  return { status: 200, body };
}

/** Stripe answers 404 to an unknown id in the path, and 400 to one in a parameter. */
export function notFound(param: string, kind: string, id: string): ApiResponse {
  const message = `No such ${kind}: '${id}'`;
  const error = { type: 'invalid_request_error', code: 'resource_missing', param, message };
  return { status: param === 'id' ? 404 : 400, body: { error } };
}

export function invalidParameter(param: string, message: string): ApiResponse {
  return { status: 400, body: { error: { type: 'invalid_request_error', param, message } } };
}

/** A failure that the request did not cause. */
export function failure(status: number): ApiResponse {
  const type = status >= 500 ? 'api_error' : 'invalid_request_error';
  return { status, body: { error: { type, message: `A simulated failure: ${status}.` } } };
}
