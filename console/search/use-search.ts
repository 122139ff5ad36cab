// The results of the search: screens, hosts and profiles by a part of their names at once, and
// what an id or an address names after a look-up.

import { useEffect, useState } from 'preact/hooks';
import type { OperatorProfile } from '#console/api/answers.ts';
import { profileList } from '#console/capacity/capacity.tsx';
import { hostsWith } from '#console/hosts/search.ts';
import { useList, useLiveList } from '#console/parts/list/live-list.tsx';
import { numberText } from '#console/parts/time/time-text.ts';
import { useLive } from '#console/parts/use-live.ts';
import { addressOf, screens } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { type Found, findDevices, findId, hostsAskedMax } from './lookups.ts';
import { readTerm } from './term.ts';

interface Results {
  readonly results: readonly Found[];
  readonly isReading: boolean;
  /** What was left out, or why something could not be looked up. */
  readonly note?: string | undefined;
}

const everyMs = 60_000;
const ofKindMax = 8;
const typingMs = 250;

export function useSearch(typed: string): Results {
  const { isOperator } = useSession();
  const term = readTerm(typed);
  const hosts = useList('hosts', { everyMs, isWaiting: !isOperator });
  const profiles = useLiveList<Pick<OperatorProfile, 'uuid' | 'name'>>({
    ...(isOperator ? { path: lists.profiles.path, collection: 'profiles' } : profileList),
    everyMs,
  });

  // Nothing is looked up while the user types.
  const settled = readTerm(useSettled(typed));
  const byDevice = (settled.address ?? settled.serial) !== undefined && isOperator;
  const isLookedUp = byDevice || settled.keystoneId !== undefined;
  const isWaiting = !isLookedUp || (byDevice && hosts.isFirst);
  const looked = useLive<readonly Found[]>(
    `search ${settled.text}`,
    { everyMs, isWaiting },
    async ({ session: { api }, signal }) => {
      const looking = { api, signal, isOperator };
      return byDevice ? findDevices(settled, hosts.rows, looking) : findId(settled, looking);
    },
  );

  const has = (name: string) => name.toLowerCase().includes(term.text);
  const results = [
    ...screens
      .filter(({ title, isForOperators }) => has(title) && (isOperator || !isForOperators))
      .map(({ name, title }) => ({ kind: 'Screens', title, href: addressOf(name) })),
    ...(term.text === '' ? [] : hostsWith(hosts.rows, term.text))
      .slice(0, ofKindMax)
      .map(({ hostname, state }) => ({
        kind: 'Hosts',
        title: hostname,
        note: state,
        href: addressOf('hosts', hostname),
      })),
    ...profiles.rows
      .filter(({ name, uuid }) => term.text !== '' && (has(name) || uuid === term.uuid))
      .slice(0, ofKindMax)
      .map(({ name }) => ({
        kind: 'Profiles',
        title: name,
        note: 'capacity',
        href: addressOf('capacity', undefined, { profile: name }),
      })),
    ...(settled.text === term.text ? (looked.data ?? []) : []),
  ];
  const isSettling = settled.text !== term.text;
  const named = byDevice ? hostsWith(hosts.rows, settled.host ?? '').length : 0;
  return {
    results,
    isReading: isSettling || (isLookedUp && looked.isFirst) || (isOperator && hosts.isFirst),
    note:
      looked.failure?.message ??
      (named > hostsAskedMax
        ? `Only ${hostsAskedMax} of ${numberText(named)} hosts were asked: type a part of the host's name before it.`
        : undefined),
  };
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const id = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(id);
  }, [text]);
  return settled;
}
