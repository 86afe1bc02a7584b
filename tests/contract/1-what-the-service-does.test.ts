import { expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const service = useService();

test('1.1 GET /api/user returns the profile of the signed-in user', async () => {
  const { id } = await service.addUser();
  const response = await service.getUser(await service.cookieOf(id));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ id });
});

test('1.1 GET /api/user returns null when no valid active user is identified', async () => {
  const response = await service.getUser();
  expect(await response.text()).toBe('null');
});

test('1.2, 1.3 POST /api/stripe/webhook updates only the team with the customer id', async () => {
  const other = await service.addTeam();
  const { teamId, customerId } = await service.addTeam();
  const response = await service.postSigned(eventBody({ customerId }));
  expect(response.status).toBe(200);
  expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  expect(await service.planOf(other.teamId)).toMatchObject({ subscriptionStatus: null });
});
