import type { Admit } from '../../server/admission.ts';
import type { Route } from '../../server/call.ts';
import { WEBHOOK_PATH } from '../../server/webhook.ts';
import type { Distribution } from './histogram.ts';
import type { Instruments } from './instruments.ts';

/** A profile takes less than the first of them, and Stripe waits no longer than the last. */
const BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What every route may answer; it shows zeros from the start, so that the first one is a rise. */
const USUAL_STATUSES = [200, 503];

type Answered = (status: number, tookMs: number) => void;

/** Counts and times what is answered. `clockMs` is one that nobody sets. */
export function observeRequests(instruments: Instruments, clockMs: () => number) {
  const durations = instruments.histogram({
    name: 'instep_http_request_duration_seconds',
    help: 'How long requests took until they were answered, by route and status.',
    labelNames: ['route', 'status'],
    bounds: BOUNDS_SECONDS,
  });
  const byRoute = new Map<string, Answered>();

  function of(route: string): Answered {
    const known = byRoute.get(route);
    if (known !== undefined) return known;
    const byStatus = new Map<number, Distribution>();
    const answered: Answered = (status, tookMs) => {
      let duration = byStatus.get(status);
      if (duration === undefined) {
        duration = durations.with({ route, status: String(status) });
        byStatus.set(status, duration);
      }
      duration.observe(tookMs / 1_000);
    };
    byRoute.set(route, answered);
    return answered;
  }

  return {
    observeRoutes(routes: readonly Route[]): Route[] {
      return routes.map((route) => {
        const answered = of(route.path);
        for (const status of USUAL_STATUSES)
          durations.with({ route: route.path, status: String(status) });
        return {
          ...route,
          async handle(call) {
            const beganMs = clockMs();
            const answer = await route.handle(call);
            answered(answer.status, clockMs() - beganMs);
            return answer;
          },
        };
      });
    },

    /** Of a known path and an unknown method, or of no path that we know. */
    onUnrouted(status: number, path: string | null): void {
      of(path ?? 'other')(status, 0);
    },

    /** For a server that answers 503 itself to what is not admitted. */
    observeRefusals(admit: Admit): Admit {
      const answered = of(WEBHOOK_PATH);
      return () => {
        const isAdmitted = admit();
        if (!isAdmitted) answered(503, 0);
        return isAdmitted;
      };
    },
  };
}
