// A table of docs/openstack.md: which credentials Nova and we accept. A row that the suite sees
// otherwise fails, and so does a difference without a reason.

import assert from 'node:assert/strict';
import { tableRows } from '#test/openstack/guide.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { answersTo, type Headers } from './calls.ts';
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

export function pageKinds(): readonly (string | undefined)[] {
  return tableRows(head).map((row) => row.split(' | ')[0]?.slice(2));
}

/** A scenario whose note are the rows of the kinds. */
export function toScenario(subject: string, kinds: readonly Kind[]): Scenario {
  return {
    name: `credentials beside Nova: ${subject}`,
    run: async (stage) => {
      // Keystone of Zed knows some of them not.
      if (!stage.cloud.plan.release.servesByWaitress) return 'not in Zed';
      const realm = await openRealm(stage);
      const rows: string[] = [];
      const faults: string[] = [];
      for (const kind of kinds) {
        const row = await seenAs(realm, kind);
        rows.push(row);
        const onPage = tableRows(head).find((line) => line.startsWith(`${row} `));
        const reason = onPage?.slice(row.length).replaceAll('|', '').trim();
        if (onPage === undefined) faults.push(`not on the page: ${row}`);
        else if (differs(row) && reason === '') faults.push(`no reason for: ${row}`);
      }
      assert.ok(faults.length === 0, faults.join('\n'));
      return rows.join('\n');
    },
  };
}

async function seenAs(realm: Realm, { what, make, repair }: Kind): Promise<string> {
  try {
    const headers = await make(realm);
    const cells = await answersTo(realm.stage, headers);
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
