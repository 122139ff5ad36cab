import { expect, it } from 'vitest';
import { followUps } from '#core/domain/outbox/outbox.ts';
import { relayChanges } from '#core/operations/outbox/relay-changes.ts';
import { aBinding } from '#test/support/builders.ts';
import { someDeps, someSettings } from '#test/support/deps.ts';

const bound = aBinding();
const atOnce = followUps({ kind: 'instance', after: bound });
const afterWork = followUps({
  kind: 'instance',
  before: aBinding({ state: 'BindStarted' }),
  after: bound,
});

it.each([
  ['nova', 'bound at once', atOnce, 0],
  ['nova', 'bound after work of the host', afterWork, 1],
  ['spec', 'bound at once', atOnce, 1],
  ['spec', 'bound after work of the host', afterWork, 1],
] as const)(
  'style %s: a binding that was %s has its event',
  async (eventStyle, _, change, events) => {
    const sent: object[] = [];
    const looks: object[] = [];
    const deps = someDeps({
      settings: { ...someSettings, eventStyle },
      queues: {
        send: async (queue, messages, delaySeconds) => {
          if (queue === 'nova-events') (delaySeconds ? looks : sent).push(...messages);
        },
      },
    });
    await relayChanges(deps, change);
    expect(sent).toHaveLength(events);
    const { instanceUuid: instance_uuid, bindId: bind_id } = bound;
    const isNew = change === atOnce;
    expect(looks).toEqual(isNew ? [{ instance_uuid, bind_id, is_look: true }] : []);
  },
);
