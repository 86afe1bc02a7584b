import { createLogger } from 'instep';
import { expect, test } from 'vitest';
import { openCluster } from '../../simulation/cluster/open-cluster.ts';
import { withPrimaryAndStandby } from '../../simulation/cluster/with-primary-and-standby.ts';
import { describeFailure } from '../../simulation/describe-failure.ts';
import { DEFAULT_FAULTS } from '../../simulation/lifecycle/faults.ts';
import { DEFAULT_LOSSES } from '../../simulation/store/losses.ts';
import { runStoreLevel } from '../../simulation/store/store-level.ts';

test('every team is correct with five instances that freeze, and a primary that is replaced', {
  timeout: 400_000,
}, async () => {
  const { failure, deliveries, promotions, freezes } = await withPrimaryAndStandby(
    ({ open, ...pair }) =>
      runStoreLevel({
        firstSeed: 1,
        seeds: 60,
        deliveries: 2_000,
        planSelection: null,
        faults: DEFAULT_FAULTS,
        open: () =>
          open({
            maxConnections: 8,
            statementTimeoutMs: 20_000,
            onConnectionError: () => undefined,
          }),
        openFleet: (options) => openCluster(pair, options),
        losses: DEFAULT_LOSSES,
        logger: createLogger('silent'),
        now: Date.now,
      }),
  );
  expect(failure && describeFailure(failure)).toBeNull();
  expect(deliveries).toBeGreaterThanOrEqual(2_000);
  expect(promotions).toBeGreaterThan(0);
  expect(freezes).toBeGreaterThan(0);
});
