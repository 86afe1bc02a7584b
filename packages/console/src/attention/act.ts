import { recordActions } from 'instep/operate/inside';
import type { ActionRequest, ActionServices } from './action.ts';
import { resolve } from './resolve.ts';

type Acted = {
  /** The next page finds the results under this id. */
  readonly formId: string;
  /** The number of rows to which the action does not apply. */
  readonly skipped: number;
};

/** Performs the action of a form, row by row, and records it with the results. */
export async function act(
  requests: readonly ActionRequest[],
  note: string | null,
  services: ActionServices,
): Promise<Acted> {
  const acted = await Promise.all(
    requests.map(async (request) => {
      const { subject, action } = request;
      const result = await resolve(request, services);
      return result === null ? [] : [{ subject, action, note, ...result }];
    }),
  );
  const actions = acted.flat();
  const formId = services.nonce();
  await recordActions(services.database.query, formId, actions);
  return { formId, skipped: requests.length - actions.length };
}
