// Servers that are deleted during their build on a node whose accelerators are nearly all taken.
// Nova deletes no ARQs of a server that no host has taken yet.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownProvider } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { arqsOf, build, create, removeCleanly } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { optionOf } from '#test/support/suites/scenario-suite.ts';

/** Accelerators of the node's 16: those of servers that stay, and one for a server of others. */
const kept = 4;
/** One round of them takes a minute; more rounds by the option `--deletes`. */
const deletesAtOnce = 11;
const backWithinSeconds = 120;

export const neverBuilt: readonly Scenario[] = [
  {
    name: 'servers that are deleted during their build fail no other, and are back in two minutes',
    isLong: true,
    run: async (stage) => {
      const most = Number(optionOf('--deletes') ?? deletesAtOnce);
      assert.ok(most > 0, '--deletes must be a number above 0');
      const stay = await Promise.all(Array.from({ length: kept }, () => build(stage, 'fpga')));
      for (const { status, fault } of stay) assert.equal(status, 'ACTIVE', fault);
      const rounds: Round[] = [];
      for (let count = 0; count < most; count += deletesAtOnce) {
        rounds.push(await deleteDuringBuilds(stage));
      }
      for (const { id } of stay) await removeCleanly(stage, id);
      const left = rounds.reduce((sum, { leftBound }) => sum + leftBound, 0);
      const longest = Math.max(...rounds.map(({ seconds }) => seconds));
      const deletes = rounds.length * deletesAtOnce;
      return `${left} of ${deletes} were left bound; back after ${longest.toFixed(0)} s at most`;
    },
  },
];

interface Round {
  /** Servers that are deleted, and have ARQs. */
  readonly leftBound: number;
  /** From the last delete until all units are back. */
  readonly seconds: number;
}

async function deleteDuringBuilds(stage: Stage): Promise<Round> {
  const ids = await Promise.all(
    Array.from({ length: deletesAtOnce }, async () => {
      const id = await create(stage, 'fpga');
      await sleep(Math.random() * 1500);
      await stage.demo.nova.ask('DELETE', `/servers/${id}`);
      return id;
    }),
  );
  const deletedAt = performance.now();
  await buildAnother(stage);
  await eventually(
    () => Promise.all(ids.map((id) => stage.demo.nova.try('GET', `/servers/${id}`))),
    (replies) => replies.every(({ status }) => status === 404),
  );
  const leftBound = (await Promise.all(ids.map((id) => arqsOf(stage, id)))).flat().length;
  await eventually(
    () => reservedUnits(stage),
    (units) => units === leftBound,
    20,
  );
  await buildAnother(stage);
  const passedSeconds = (performance.now() - deletedAt) / 1000;
  await eventually(
    async () => (await Promise.all(ids.map((id) => arqsOf(stage, id)))).flat().length,
    (arqs) => arqs === 0,
    backWithinSeconds - passedSeconds,
  );
  await eventually(
    () => reservedUnits(stage),
    (units) => units === 0,
    20,
  );
  return { leftBound, seconds: (performance.now() - deletedAt) / 1000 };
}

/** The server of another user, at any moment. */
async function buildAnother(stage: Stage): Promise<void> {
  const built = await build(stage, 'fpga');
  assert.equal(built.status, 'ACTIVE', built.fault);
  await removeCleanly(stage, built.id);
}

async function reservedUnits(stage: Stage): Promise<number> {
  const path = `${ownProvider(stage, 'FakeDevice')}/inventories/FPGA`;
  return (await stage.admin.placement.ask('GET', path)).body.reserved;
}
