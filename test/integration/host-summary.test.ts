// The summary of a host, by which hosts are listed: each change of the host changes it, a lost
// write is made up for, and a late one changes nothing.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PresenceEvent } from '#core/contracts/queues/queue-messages.ts';
import { staleParts } from '#core/domain/host/host-summary.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { hostSummaryKey } from '#core/store/rows/rows.ts';
import { tableName } from '#core/store/table/tables.ts';
import { aDevice, applySettled, aReport, bootId } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const otherBoot = '22222222-2222-4222-8222-222222222222';
const world = perFile(startWorld);
let documents: DynamoDBDocumentClient;
let receivedAt = Date.now() - 1_000_000;
let sequence = 0;

beforeAll(() => {
  documents = DynamoDBDocumentClient.from(new DynamoDBClient());
});
afterAll(() => documents.destroy());

const summary = () => world.deps.store.inventory.hostSummary('cmp1');

async function report(given: Parameters<typeof aReport>[1] = {}, devices = [aDevice()]) {
  sequence += 1;
  receivedAt += 5000;
  await applySettled(world.deps, 'cmp1', aReport(devices, { sequence, ...given }), receivedAt);
}

async function tell(eventType: PresenceEvent['eventType']) {
  receivedAt += 5000;
  const event = { clientId: 'cmp1', eventType, timestamp: receivedAt } as PresenceEvent;
  await recordPresence(world.deps, 'cmp1', event);
  return event;
}

/** A heartbeat: a report of digests alone. */
async function heartbeat(given: Parameters<typeof aReport>[1] = {}) {
  const { manifest } = aReport([aDevice()]);
  await report({ manifest, ...given }, []);
}

async function loseSummary() {
  const key = { TableName: tableName(stage, 'inventory'), Key: hostSummaryKey('cmp1') };
  await documents.send(new DeleteCommand(key));
}

describe('the summary of a host', () => {
  it('has the connection, the boot, the agent and the numbers of devices', async () => {
    await tell('connected');
    expect(await summary()).toMatchObject({ presence: { isConnected: true }, devices: 0 });
    await report();
    expect(await summary()).toMatchObject({ bootId, agentVersion: 'test', devices: 1 });
  });

  it('follows an upgrade of the agent, a disconnect and a boot', async () => {
    await heartbeat({ agent_version: 'next' });
    expect((await summary())?.agentVersion).toBe('next');
    await tell('disconnected');
    expect((await summary())?.presence?.isConnected).toBe(false);
    await report({ boot_id: otherBoot });
    expect((await summary())?.bootId).toBe(otherBoot);
  });

  it('follows a conflict of identity', async () => {
    expect((await summary())?.conflictSince).toBeUndefined();
    receivedAt += 100_000;
    await report({ boot_id: bootId });
    expect((await summary())?.conflictSince).toBeDefined();
  });

  it('of a conflict whose write was lost is written by the next report', async () => {
    await loseSummary();
    await report({ boot_id: otherBoot });
    expect((await summary())?.conflictSince).toBeDefined();
    const { inventory } = world.deps.store;
    const { host } = await inventory.host('cmp1');
    const boot = { ...host, bootId: otherBoot, epoch: host.epoch + 1 };
    expect(await inventory.endConflict(boot, host.conflict?.since ?? '')).toBe(true);
    await report({ boot_id: otherBoot });
    expect((await summary())?.conflictSince).toBeUndefined();
  });

  it('whose write was lost is written by the next heartbeat', async () => {
    const before = await summary();
    await loseSummary();
    await heartbeat({ boot_id: otherBoot });
    expect(await summary()).toEqual({ ...before, firstSeen: expect.any(String) });
  });

  it('whose write was lost is written when the presence event comes again', async () => {
    const event = await tell('connected');
    await loseSummary();
    await recordPresence(world.deps, 'cmp1', event);
    expect((await summary())?.presence?.isConnected).toBe(true);
  });

  it('is not changed by a late writer', async () => {
    const { inventory } = world.deps.store;
    const { host } = await inventory.host('cmp1');
    await heartbeat({ boot_id: otherBoot, agent_version: 'newest' });
    await tell('disconnected');
    const parts = staleParts(host, undefined, { devices: 7, notOffered: 7 });
    expect(parts).toHaveLength(2);
    const now = new Date().toISOString();
    const before = await summary();
    for (const part of parts) {
      expect(await inventory.putSummaryPart('cmp1', part, now)).toBe(false);
    }
    expect(await summary()).toEqual(before);
  });
});
