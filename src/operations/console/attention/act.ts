import { recordActions } from '../../../queries/operator-actions.ts';
import type { ActionRequest, ActionServices } from './action.ts';
import { resolve } from './resolve.ts';

/**
 * Performs the action of a form, row by row, and records it with the results. Returns the id under which the
 * next page finds them.
 */
export async function act(
  requests: readonly ActionRequest[],
  note: string | null,
  services: ActionServices,
): Promise<string> {
  const actions = await Promise.all(
    requests.map(async (request) => {
      const { subject, action } = request;
      return { subject, action, note, ...(await resolve(request, services)) };
    }),
  );
  const formId = services.nonce();
  await recordActions(services.database.query, formId, actions);
  return formId;
}
