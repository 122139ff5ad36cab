// The summary of each host is what the host's row says: each field when it is written, and all of
// them once faults have ended for long enough.

import { staleParts } from '#core/domain/host/host-summary.ts';
import { summaryIn } from '#core/store/hosts/host-summaries.ts';
import { toHost, toNotOffered } from '#core/store/rows/host-rows.ts';
import { toDevice } from '#core/store/rows/inventory-rows.ts';
import { Violation } from '#simulation/violation.ts';
import type { World } from '#simulation/world/world.ts';

/** A host that is down reports nothing that could repair a lost write. @throws Violation */
export function checkSummaries({ database, hosts }: World): void {
  const rows = database.rows('inventory');
  for (const { name } of hosts.filter(({ isUp }) => isUp)) {
    const hostRows = rows.filter(({ pk }) => pk === `HOST#${name}`);
    const host = toHost(
      name,
      hostRows.find(({ sk }) => sk === 'HOST'),
    );
    if (host.lastReportAt === undefined) continue;
    const devices = hostRows.filter(({ sk }) => String(sk).startsWith('DEVICE#')).map(toDevice);
    const notOffered = toNotOffered(hostRows.find(({ sk }) => sk === 'NOT_OFFERED'));
    const counts = {
      devices: devices.filter(({ isGone }) => !isGone).length,
      notOffered: notOffered.length,
    };
    const { summary } = summaryIn(hostRows);
    const [stale] = staleParts(host, summary, host.conflict ? undefined : counts);
    if (stale) {
      const [is, shouldBe] = [summary, stale.fields].map((each) => JSON.stringify(each));
      throw new Violation('L3', `the summary of ${name} is ${is}, not ${shouldBe}`);
    }
  }
}

/** The fields whose changes are history; the numbers of devices are not. */
const recorded = ['boot_id', 'booted_at', 'agent_version', 'conflict_since'] as const;

/**
 * Checks, after each step, that no late writer has written an earlier state of a host.
 */
export function createSummaryCheck({ database }: World): () => void {
  const last = new Map<string, Readonly<Record<string, unknown>>>();
  return () => {
    const rows = database.rows('inventory');
    for (const row of rows.filter(({ sk }) => sk === 'SUMMARY')) {
      const before = last.get(String(row.pk)) ?? {};
      last.set(String(row.pk), row);
      if (before === row) continue;
      const host = rows.find(({ pk, sk }) => pk === row.pk && sk === 'HOST') ?? {};
      const isPut = (name: string) => JSON.stringify(row[name]) !== JSON.stringify(before[name]);
      const wrong = recorded.find((name) => isPut(name) && row[name] !== host[name]);
      if (wrong) {
        throw new Violation(
          'I5',
          `the summary of ${row.hostname} has ${wrong} ${row[wrong]}, its host ${host[wrong]}`,
        );
      }
      // The host may have a later presence, whose writer follows.
      for (const order of ['presence_order', 'placement_order']) {
        if (Number(row[order] ?? 0) >= Number(before[order] ?? 0)) continue;
        throw new Violation('I5', `the summary of ${row.hostname} has an earlier ${order}`);
      }
    }
  };
}
