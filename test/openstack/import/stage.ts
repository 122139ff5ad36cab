// What the scenarios of the import share: the cloud with Cyborg, and the same cloud with us.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { queries } from '#operate/import/cyborg-tables.ts';
import type { Cyborg } from '#test/openstack/install/cyborg.ts';
import { type ProviderRow, providersOf } from '#test/openstack/providers.ts';
import { type ApiAnswer, openStage, runGuide, type Stage } from '#test/openstack/stage.ts';
import { admin } from '#test/openstack/users.ts';
import type { Arq } from '#test/support/suites/rest.ts';

const command = join(import.meta.dirname, '..', '..', '..', 'operate', 'cyborg-ops.ts');

interface OpsRun {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Move {
  readonly cyborg: Cyborg;
  /** The services with Cyborg as the accelerator service. */
  readonly before: Stage;
  /** The services with ours; new tokens, since a token names the endpoints of its time. */
  after(): Promise<Stage>;
  /** The services with Cyborg again. */
  back(): Promise<Stage>;
  readonly servers: { readonly id: string; readonly count: number }[];
  /** Cyborg's provider. @throws where it is not the only one below the compute node */
  provider(): Promise<ProviderRow>;
  /** The ARQs of all servers of {@link servers}, sorted. */
  arqsOf(stage: Stage): Promise<readonly Arq[]>;
  /** Consumer → resources, of Cyborg's provider. */
  allocations(): Promise<unknown>;
  /** Prints Cyborg's tables into a file, and returns its path. */
  dump(change?: (xml: string) => string): Promise<string>;
  /** Runs cyborg-ops import; kills it after a time, if given. */
  ops(words: readonly string[], killAfterMs?: number): Promise<OpsRun>;
  /** Runs cyborg-ops export. */
  exported(file: string): Promise<OpsRun>;
  /** Runs a block of docs/import.md. */
  guide(name: string, variables?: Readonly<Record<string, string>>): Promise<string>;
}

export async function openMove(
  stage: Stage,
  answers: readonly ApiAnswer[],
  cyborg: Cyborg,
): Promise<Move> {
  const { cloud, layout, system } = stage;
  const servers: Move['servers'] = [];
  let dumps = 0;
  let later: Promise<Stage> | undefined;
  const provider = async () => {
    const below = (await providersOf(stage)).filter(({ name }) => name !== cloud.plan.computeHost);
    const [only] = below;
    if (!only || below.length > 1) {
      throw new Error(`Below the node are: ${below.map(({ name }) => name).join(', ')}`);
    }
    return only;
  };
  return {
    cyborg,
    servers,
    before: await openStage(cloud, layout, system, answers, cyborg.url),
    after: () => (later ??= openStage(cloud, layout, system, answers)),
    back: () => openStage(cloud, layout, system, answers, cyborg.url),
    provider,
    arqsOf: async (of) => {
      const all: Arq[] = [];
      // One after the other: Cyborg 9.0.0 answers 500 to some of many at once.
      for (const { id } of servers) {
        const path = `/accelerator_requests?instance=${id}`;
        all.push(...(await of.admin.accelerator.ask('GET', path)).body.arqs);
      }
      return all.sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
    },
    allocations: async () => {
      const path = `/resource_providers/${(await provider()).uuid}/allocations`;
      return (await stage.admin.placement.ask('GET', path)).body.allocations;
    },
    dump: async (change = (xml) => xml) => {
      const file = join(cloud.plan.directory, `cyborg-${++dumps}.xml`);
      writeFileSync(file, change(await cyborg.tables(queries())));
      return file;
    },
    ops: (words, killAfterMs) => runOps(['import', ...words], killAfterMs),
    exported: (file) => runOps(['export', 'cyborg', '--tables', file]),
    guide: (name, variables) => runGuide(cloud, layout, name, admin, variables, 'import.md'),
  };
}

async function runOps(words: readonly string[], killAfterMs?: number): Promise<OpsRun> {
  const child = spawn(process.execPath, [command, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text) => (said.out += text));
  child.stderr.on('data', (text) => (said.err += text));
  const closed = once(child, 'close');
  if (killAfterMs !== undefined) {
    await Promise.race([sleep(killAfterMs), closed]);
    child.kill('SIGKILL');
  }
  const [code] = await closed;
  return { code, ...said };
}
