import type { Outcome } from '#test/support/suites/scenario-suite.ts';
import { scheduleOnlyTo } from './nodes.ts';
import { remove } from './servers.ts';
import type { Stage } from './stage.ts';

export interface Scenario {
  /** The fact that the scenario proves. */
  readonly name: string;
  /** It waits for half a minute or more, and CI does not play it. */
  readonly isLong?: boolean;
  /** Returns a note, or an empty text. @throws Error if the fact is not true */
  run(stage: Stage): Promise<string>;
}

/** @param sharesServers later scenarios go on with the servers of this one, also if it fails */
export async function play(
  scenario: Scenario,
  stage: Stage,
  { sharesServers }: { readonly sharesServers: boolean },
): Promise<Outcome> {
  const startedAt = performance.now();
  const end = (hasPassed: boolean, note: string): Outcome => ({
    name: scenario.name,
    seconds: (performance.now() - startedAt) / 1000,
    note,
    hasPassed,
  });
  try {
    return end(true, await scenario.run(stage));
  } catch (error) {
    const left = sharesServers ? '' : await removeLeftServers(stage).catch(String);
    return end(false, `${error instanceof Error ? error.message : error}\n${left}`);
  } finally {
    stage.setFaults();
  }
}

/** The next scenario shall not fail because of what this one has left. Returns a note. */
async function removeLeftServers(stage: Stage): Promise<string> {
  const { servers } = (await stage.demo.nova.ask('GET', '/servers/detail')).body;
  for (const { id } of servers) await remove(stage, id);
  await scheduleOnlyTo(stage);
  return servers
    .map(({ name, status, fault }) => `left: ${name}, ${status}, ${fault?.message ?? 'no fault'}`)
    .join('\n');
}
