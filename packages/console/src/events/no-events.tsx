import { HANDLED_TYPES } from 'instep-operate';
import { Notice } from '../components/panels.tsx';

/** Says how to receive the first event. */
export function NoEvents() {
  const [updated, deleted] = HANDLED_TYPES;
  return (
    <Notice kind="empty" title="No events yet">
      At Stripe, register <code>https://your.app/api/stripe/webhook</code> for{' '}
      <code>{updated}</code> and <code>{deleted}</code>, and change a subscription; or run{' '}
      <code>npx instep trigger</code> to send an event yourself. If none arrives,{' '}
      <code>npx instep doctor</code> shows why.
    </Notice>
  );
}
