import {
  type ActionRequest,
  type ActOptions,
  type OperateContext,
  type Operator,
  perform,
  type Task,
} from 'instep/operate';

/** Performs one action, and returns its result. @throws what ended it */
export async function performOne(
  context: OperateContext,
  operator: Operator,
  request: ActionRequest | Task,
  options?: ActOptions,
) {
  const [performed] = (await perform(context, operator, [request], options)).results;
  if (performed?.error !== undefined) throw performed.error;
  return performed?.result;
}
