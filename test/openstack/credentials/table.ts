// The table of README.md: which credentials Nova and we accept. A row that the suite sees
// otherwise fails, and so does a difference without a reason.

import assert from 'node:assert/strict';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { tableRows } from '#test/openstack/guide.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { answersTo, type Headers, ourAnswersTo } from './calls.ts';
import { openRealm, type Realm } from './realm.ts';

export interface Kind {
  /** The first cell of the row. */
  readonly what: string;
  /** Makes the credential. */
  make(realm: Realm): Promise<Headers>;
  /** Repairs what concerns other credentials. */
  repair?(realm: Realm): Promise<void>;
}

const head =
  '| credential | a list | a creation | a list for operators | a creation by operators | why they differ |';

/** Seen from docs/. */
const page = '../test/openstack/credentials/README.md';

export function pageKinds(): readonly (string | undefined)[] {
  return tableRows(head, page).map((row) => row.split(' | ')[0]?.slice(2));
}

/** Keystone and Nova are one process each. */
const kindsAtOnce = 4;

interface Answers {
  readonly headers: Headers;
  readonly ours: readonly string[];
}

/** What the scenarios have seen so far, by the credential. */
const seen = new Map<string, Answers>();

/**
 * A scenario whose note are the rows of the kinds.
 *
 * @param atOnce Keystone 30 finds no role assignment for a new application credential while it
 *   validates tokens
 */
export function toScenario(
  subject: string,
  kinds: readonly Kind[],
  atOnce = kindsAtOnce,
): Scenario {
  return {
    name: `credentials beside Nova: ${subject}`,
    run: async (stage) => {
      // Keystone of Zed knows some of them not.
      if (!stage.cloud.plan.release.servesByWaitress) return 'not in Zed';
      const realm = await openRealm(stage);
      const rows = new Map<string, string>();
      const seeRow = async (kind: Kind) => {
        rows.set(kind.what, await seenAs(realm, kind));
      };
      await forEachAtOnce(
        kinds.filter(({ repair }) => !repair),
        atOnce,
        seeRow,
      );
      for (const kind of kinds.filter(({ repair }) => repair)) await seeRow(kind);
      const inOrder = kinds.map(({ what }) => rows.get(what) ?? '');
      const faults = inOrder.flatMap(faultOf);
      assert.ok(faults.length === 0, faults.join('\n'));
      return inOrder.join('\n');
    },
  };
}

function faultOf(row: string): readonly string[] {
  const onPage = tableRows(head, page).find((line) => line.startsWith(`${row} `));
  if (onPage === undefined) return [`not on the page: ${row}`];
  const reason = onPage.slice(row.length).replaceAll('|', '').trim();
  return differs(row) && reason === '' ? [`no reason for: ${row}`] : [];
}

/** Asks our API again for each credential, and kills its process in the middle. */
export const whileKilled: Scenario = {
  name: 'credentials beside Nova: our answers are the same while our API is killed',
  run: async (stage) => {
    let [answered, unanswered] = [0, 0];
    let restart: Promise<void> | undefined;
    await forEachAtOnce([...seen], kindsAtOnce, async ([what, { headers, ours }]) => {
      if (answered >= seen.size / 2) restart ??= restartApi(stage);
      const again = await eventually(
        () => ourAnswersTo(stage, headers).catch(() => undefined),
        (answers) => {
          if (answers === undefined) unanswered += 1;
          return answers !== undefined;
        },
      );
      answered += 1;
      assert.deepEqual(again, ours, what);
    }).finally(() => restart);
    return `${answered} credentials, ${unanswered} times without an answer`;
  },
};

async function restartApi({ system }: Stage): Promise<void> {
  await system.kill('api');
  await system.start('api');
}

async function seenAs(realm: Realm, { what, make, repair }: Kind): Promise<string> {
  try {
    const headers = await make(realm);
    const cells = await answersTo(realm.stage, headers);
    seen.set(what, { headers, ours: cells.map((cell) => cell.split('/')[1] ?? '') });
    return `| ${[what, ...cells].join(' | ')} |`;
  } finally {
    await repair?.(realm);
  }
}

/** Whether one of the two lets a call in that the other refuses, or refuses it otherwise. */
function differs(row: string): boolean {
  const cells = row.split(' | ').slice(1);
  return cells.some((cell) => {
    const [nova, ours] = cell.replace(' |', '').split('/').map(verdict);
    return nova !== ours;
  });
}

/** 400, 404 and 409 are answers to a caller who may. */
function verdict(status: string): string {
  return ['200', '400', '404', '409'].includes(status) ? 'let in' : status;
}
