import { randomBytes } from 'node:crypto';
import { readPlanSelection, readWebhookSecrets } from '../../config/config.ts';
import { applyBatch } from '../../ingest/apply-batch.ts';
import { readLinkedTeams } from '../../postgres/statements/teams.ts';
import { parseEvent } from '../../stripe/parse-event.ts';
import { SignatureVerifier } from '../../stripe/signature.ts';
import { createSubscriptionEvent, signedRequest } from '../../testing/stripe-objects.ts';
import { withDatabase } from '../with-database.ts';

/**
 * Verifies and applies a signed event for one of the app's customers, or for one without a team, and rolls everything
 * back. Returns the outcome for the user.
 *
 * @throws the errors of an event
 */
export async function tryEvent(): Promise<string> {
  const secrets = readWebhookSecrets(process.env);
  const planSelection = readPlanSelection(process.env);
  const receivedAtMs = Date.now();
  return await withDatabase(async (database) => {
    const [team] = (await readLinkedTeams(database.query, { afterId: null })).found;
    const customerId = team?.customerId ?? 'cus_instep_init';
    const eventId = `evt_${randomBytes(12).toString('hex')}`;
    const createdSeconds = Math.floor(receivedAtMs / 1_000);
    const event = createSubscriptionEvent({ customerId, eventId, createdSeconds });
    const { body, headers } = signedRequest(event, secrets[0]);
    const verifier = new SignatureVerifier(secrets);
    const signature = verifier.parse(headers['stripe-signature']);
    const text = verifier.verify(Buffer.from(body), signature, receivedAtMs);
    const parsed = parseEvent(text, { receivedAtMs, nonce: () => eventId });
    if (parsed.kind !== 'readable') throw new RangeError('an event of ours is readable');
    const received = { ...parsed, body: Buffer.from(body), receivedAtMs, productName: null };
    const events = [{ ...received, source: 'delivery' as const }];
    const [result] = await database.transaction(async (query, atCommit) => {
      await query('savepoint before_event');
      const options = { planSelection, names: 'everywhere' as const };
      const results = await applyBatch({ query, atCommit }, events, options);
      // In its place in the pipeline, after all statements of the event. If one has failed, the commit throws.
      await query('rollback to savepoint before_event');
      return results;
    });
    if (!result) return `skipped: another transaction has locked the team of ${customerId}`;
    if (team === undefined) return `${result.outcome}: no team has a customer yet`;
    return `${result.outcome}, for ${customerId} of team ${result.teamIds}`;
  });
}
