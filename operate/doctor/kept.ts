// Checks what is kept beside the rows that it follows from: marks of incidents, measured hosts,
// and sums of usage.

import { isDeepStrictEqual } from 'node:util';
import { CheckFailed, Undetermined } from '#core/command-line/checks.ts';
import { joinRanges } from '#core/domain/capacity/measured-hosts.ts';
import { areMarksComplete, mayHostHaveIncident } from '#core/domain/history/incident-marks.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { allProfiles } from '#core/operations/profiles/rename-in-profiles.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Check, CheckContext } from './check.ts';

/** A mark follows its cause within some twelve seconds. */
const markedAfterMs = 60_000;
const namedMax = 5;

export function namesOf(names: readonly string[]): string {
  const more = names.length > namedMax ? `, and ${names.length - namedMax} more` : '';
  return `${names.slice(0, namedMax).join(', ')}${more}`;
}

type Deps = CheckContext['deps'];
const pageSize = 1000;
const asksAtOnce = 10;

/** Project → the quota and the profiles that name it. */
async function projectsNamed({ listings, store }: Deps): Promise<Map<string, string[]>> {
  const named = new Map<string, string[]>();
  const add = (project: string, by: string) =>
    named.set(project, [...(named.get(project) ?? []), by]);
  let marker: string | undefined;
  do {
    const quotas = await listings.quotas({ limit: pageSize, ...present({ marker }) });
    for (const { projectId } of quotas) add(projectId, 'a quota');
    marker = quotas.length === pageSize ? quotas.at(-1)?.projectId : undefined;
  } while (marker !== undefined);
  for (const { name, projects = [] } of await allProfiles({ listings, store })) {
    for (const project of projects) add(project, `profile ${name}`);
  }
  return named;
}

export const keptChecks: readonly Check[] = [
  {
    name: 'the projects of quotas and profiles',
    remedy: 'Check Keystone, and that the service user may read projects.',
    look: async ({ deps }) => {
      const named = await projectsNamed(deps);
      const missing: string[] = [];
      await forEachAtOnce([...named], asksAtOnce, async ([project, by]) => {
        if (await deps.clients.keystone.hasProject(project)) return;
        missing.push(`${project} (${by.join(', ')})`);
      });
      if (missing.length === 0) return `Keystone has all ${named.size}`;
      throw new CheckFailed(
        `Keystone has no such projects: ${namesOf(missing.sort())}.`,
        'Remove them: cyborg-ops quota unset --id <id>, or cyborg-ops profiles publish with the right projects.',
      );
    },
  },
  {
    name: 'the marks of incidents',
    remedy: 'See the log of the function sweep, which sets lost marks within a minute.',
    look: async ({ deps: { store, listings, clock, sleep } }) => {
      const { incidentMarks } = store;
      if (!areMarksComplete(await incidentMarks.rounds(), clock())) {
        throw new Undetermined('the sweep has not completed the marks yet; all hosts are read');
      }
      const unmarked = async () => {
        const hosts = (await allHosts({ listings })).filter(mayHostHaveIncident);
        const marked = new Set((await incidentMarks.marks('host')).map(({ id }) => id));
        return hosts.map(({ hostname }) => hostname).filter((name) => !marked.has(name));
      };
      const first = await unmarked();
      if (first.length > 0) await sleep(markedAfterMs);
      const still = first.length > 0 ? await unmarked() : [];
      const lost = first.filter((name) => still.includes(name));
      if (lost.length === 0) return 'each host that may have an incident is marked';
      throw new CheckFailed(
        `Hosts that may have an incident are not marked: ${namesOf(lost)}.`,
        'See the log of the function sweep, which sets lost marks within a minute.',
      );
    },
  },
  {
    name: 'the measured hosts',
    remedy: 'See the log of the function sweep, which measures each host within an hour.',
    look: async ({ deps: { store, listings, clock } }) => {
      const cloud = joinRanges(await store.measuredHosts.ranges(), clock());
      if (!cloud) throw new Undetermined('not all hosts are measured; the capacity reads them');
      const measured = new Set(cloud.hosts.map(({ hostname }) => hostname));
      const missing = (await allHosts({ listings }))
        .filter(({ hostname, firstSeen }) => firstSeen < cloud.at && !measured.has(hostname))
        .map(({ hostname }) => hostname);
      if (missing.length === 0) return `the hosts are as they were measured since ${cloud.at}`;
      throw new CheckFailed(
        `The capacity of the cloud lacks hosts that were there before: ${namesOf(missing)}.`,
        'See the log of the function sweep, which measures each host within an hour.',
      );
    },
  },
  {
    name: 'the sums of usage',
    remedy: 'See the log of the function sweep, which keeps them.',
    look: async ({ deps: { store, clock } }) => {
      const { hour, kept, counted } = await store.usageSums.compareHour(clock());
      if (!kept) throw new Undetermined(`the hour ${hour} is not kept yet; requests count it`);
      if (isDeepStrictEqual(kept, counted)) return `the hour ${hour} equals the history`;
      throw new CheckFailed(
        `The sum of the hour ${hour} differs from the history.`,
        'Delete its rows, and those of its day, from the partitions USAGE#hours and USAGE#days: the next request counts them again.',
      );
    },
  },
];
