import {
  type ActionRequest,
  type OperateContext,
  type Operator,
  type PerformOptions,
  perform,
  type Task,
} from 'instep/operate';

/** Performs one action, and returns its result. @throws what ended it */
export async function performOne(
  context: OperateContext,
  operator: Operator,
  request: ActionRequest | Task,
  options?: PerformOptions,
) {
  const [performed] = (await perform(context, operator, [request], options)).results;
  if (performed?.error !== undefined) throw performed.error;
  return performed?.result;
}
