import { describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ExternalEvent } from '#core/clients/openstack/nova.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { ArqUuid, BindId } from '#core/domain/ids.ts';
import { notifyNova } from '#core/operations/outbox/notify-nova.ts';
import { aBinding, anArq } from '#test/support/builders.ts';
import { countingMetrics, someDeps, someSettings } from '#test/support/deps.ts';

const message = { instance_uuid: aBinding().instanceUuid, bind_id: aBinding().bindId };
const two = ['arq-1', 'arq-2'] as ArqUuid[];

/** Sends to a Nova that records its events, some seconds after the bind. */
async function tell(
  binding: InstanceBinding | undefined,
  given: { afterSeconds?: number; isAway?: boolean; attempt?: number; style?: 'spec' } = {},
) {
  const told: ExternalEvent[] = [];
  const { metrics, counted } = countingMetrics();
  const deps = someDeps({
    random: () => 1,
    metrics,
    settings: { ...someSettings, eventStyle: given.style ?? 'nova' },
    clock: () => Date.parse(aBinding().startedAt) + (given.afterSeconds ?? 1) * 1000,
    store: {
      arqs: {
        binding: async () => binding,
        byUuids: async (uuids) => new Map(uuids.map((uuid) => [uuid, anArq({ uuid })])),
      },
    },
    clients: {
      nova: {
        postExternalEvents: async (events) => {
          if (given.isAway) throw new ServiceUnavailable('compute', 'url', 'refused', true);
          told.push(...events);
          return events.map(({ tag }) => ({ tag, code: 422 }));
        },
      },
    },
  });
  const again = await notifyNova(deps, message, given.attempt ?? 1).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { told, again, counted };
}

describe('an event to Nova', () => {
  it('is posted once per ARQ as completed, and 422 is an accepted answer', async () => {
    const { told, again, counted } = await tell(aBinding({ arqUuids: two }));
    expect(counted).toEqual([{ name: 'NovaToldAfter', value: 1000 }]);
    expect(told).toEqual(
      two.map((tag) => ({
        name: 'accelerator-request-bound',
        tag,
        server_uuid: message.instance_uuid,
        status: 'completed',
      })),
    );
    expect(again).toBeUndefined();
  });

  it.each([
    ['the binding is gone', undefined],
    ['the instance is bound again', aBinding({ bindId: 'another' as BindId })],
    ['the bind goes on', aBinding({ state: 'BindStarted' })],
  ])('says nothing when %s', async (_case, binding) => {
    expect(await tell(binding)).toEqual({ told: [], again: undefined, counted: [] });
  });

  it.each([
    [1, 1],
    [3, 4],
    [10, 8],
  ])('tries again while Nova is away: attempt %i after %i s at most', async (attempt, seconds) => {
    const { again, counted } = await tell(aBinding(), { isAway: true, attempt });
    expect(counted).toEqual([]);
    expect(again).toMatchObject({ name: 'RetryLater', seconds });
  });

  it('is given up when nova-compute no longer waits', async () => {
    const late = await tell(aBinding(), { isAway: true, afterSeconds: 301 });
    const counted = [{ name: 'NovaNotTold', value: 1 }];
    expect(late).toEqual({ told: [], again: undefined, counted });
  });

  it('of a failure is repeated every ten seconds, as long as the ARQs are there', async () => {
    const failed = aBinding({ state: 'BindFailed' });
    const { told, again, counted } = await tell(failed);
    // The time until a failure is resolved is no latency.
    expect(counted).toEqual([]);
    expect(told.map(({ status }) => status)).toEqual(['failed']);
    expect(again).toMatchObject({ name: 'RetryLater', seconds: 10 });
    expect((await tell(failed, { afterSeconds: 291 })).again).toBeUndefined();
  });

  it('has the form of the specification if the deployment asks for it', async () => {
    const { told } = await tell(aBinding({ arqUuids: two }), { style: 'spec' });
    expect(told).toEqual([
      {
        name: 'accelerator-requests-bound',
        tag: 'fpga',
        server_uuid: message.instance_uuid,
        status: 'completed',
      },
    ]);
  });
});
