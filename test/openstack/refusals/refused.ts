// What a refusal of ours looks like to the user of a real Nova, as a row of a table in
// docs/openstack.md. A row that the suite sees otherwise fails.

import assert from 'node:assert/strict';
import { tableRows } from '#test/openstack/guide.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { flavorId, remove, show, untilBuilt } from '#test/openstack/servers.ts';
import type { ApiAnswer, Stage } from '#test/openstack/stage.ts';
import { demo, type User } from '#test/openstack/users.ts';
import { eventually } from '#test/support/suites/rest.ts';

/** What Nova shows its user. */
export interface Seen {
  /** The server, if Nova has made one. */
  readonly id?: string;
  /** The state of the server, or the status of Nova's answer. */
  readonly state: string;
  /** The fault of the server, or the message of Nova's answer. */
  readonly message: string;
}

export interface Refusal {
  /** The first cell of the row. */
  readonly what: string;
  /** Who reads the reason by `explain`; by default the user of the server. */
  readonly reader?: User;
  /** The second cell, where it is not an answer of ours. */
  readonly instead?: string;
  readonly isLong?: boolean;
  provoke(stage: Stage): Promise<Seen>;
  /** Repairs what it has broken, when the server is gone. */
  repair?(stage: Stage): Promise<void>;
}

/** Some refusals are a race, which is lost a few times at most. */
export const buildsMax = 10;

const head =
  '| case | our answer | Nova shows | its message | the reason, by `explain` | what to do |';

export function pageCases(): readonly (string | undefined)[] {
  return tableRows(head).map((row) => row.split(' | ')[0]?.slice(2));
}

/** A scenario whose note is the row of the refusal, without what to do. */
export function toScenario(refusal: Refusal): Scenario {
  const { what, repair, isLong = false } = refusal;
  return {
    name: `Nova shows a refusal: ${what}`,
    isLong,
    run: async (stage) => {
      if (!stage.cloud.plan.release.servesByWaitress) return 'not in Zed';
      const row = await seenAs(stage, refusal).finally(() => repair?.(stage));
      const isOnPage = tableRows(head).some((line) => line.startsWith(`${row} `));
      assert.ok(isOnPage, `docs/openstack.md has no row that begins with\n${row}`);
      return row;
    },
  };
}

async function seenAs(stage: Stage, refusal: Refusal): Promise<string> {
  const { what, instead, provoke, reader = demo } = refusal;
  const from = stage.answers.length;
  const seen = await provoke(stage);
  const answer = instead ? undefined : refusalIn(stage.answers.slice(from));
  const reason = await explained(stage, reader, seen, answer);
  if (seen.id !== undefined) await remove(stage, seen.id);
  const cells = [
    what,
    instead ?? `${answer?.method} ${answer?.status}`,
    seen.state,
    code(seen.message),
    code(reason),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Nova asks for profiles that do not exist, and deletes ARQs that are gone. */
function refusalIn(answers: readonly ApiAnswer[]): ApiAnswer | undefined {
  const asked = answers.filter(
    ({ method, path }) =>
      (method === 'GET' && path.endsWith('/device_profiles')) ||
      (method !== 'DELETE' && path.endsWith('/accelerator_requests')),
  );
  return asked.findLast(({ status }) => status >= 400) ?? asked[0];
}

/**
 * The sentence of the answer, which `explain` must have; without an answer, what `explain` says
 * first. Records follow within some twelve seconds.
 */
async function explained(
  stage: Stage,
  reader: User,
  { id }: Seen,
  answer: ApiAnswer | undefined,
): Promise<string> {
  if (id === undefined) return '';
  const prefix = `Binding accelerators to instance ${id} failed: `;
  const sentence = answer?.refusal?.replace(prefix, '');
  const text = await eventually(
    () => stage.guide('explain', reader, { SERVER: id }).catch(String),
    (said) => (sentence === undefined ? said.includes(' failed: ') : said.includes(sentence)),
    30,
  );
  return sentence ?? text.split('\n')[0]?.split(' failed: ')[1] ?? '';
}

/** Without what differs from run to run. */
function code(text: string): string {
  const constant = text
    .replaceAll(/\breq-[0-9a-f-]{36}/g, 'REQUEST')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\b[0-9a-f]{32}\b/g, 'PROJECT')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll('compute-1.example', 'HOST')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/port=\d+/g, 'port=PORT')
    .replaceAll('|', '\\|');
  return constant === '' ? '' : `\`${constant}\``;
}

/** Asks Nova for a server, which Nova or we refuse. */
export async function createRefused(stage: Stage, flavor: string): Promise<Seen> {
  const reply = await requestServer(stage, flavor);
  if (reply.status >= 400) {
    const [fault] = Object.values(reply.body as unknown as Record<string, { message: string }>);
    return { state: `no server: ${reply.status}`, message: fault?.message ?? '' };
  }
  const { id } = reply.body.server;
  return seenOf(id, await untilBuilt(stage, id, 300));
}

export async function requestServer({ demo, ...stage }: Stage, flavor: string) {
  const { images } = (await demo.glance.ask('GET', '/v2/images?name=cirros')).body;
  return demo.nova.try('POST', '/servers', {
    server: {
      name: `refused-${flavor}`,
      flavorRef: await flavorId({ demo, ...stage }, flavor),
      imageRef: images[0].id,
      networks: 'none',
    },
  });
}

/** Performs an action of the server's user; Nova shows its end, and no reason. */
export async function actRefused(stage: Stage, id: string, action: object): Promise<Seen> {
  await stage.demo.nova.ask('POST', `/servers/${id}/action`, action);
  const { status, fault } = await eventually(
    () => show(stage, id),
    ({ task }) => task === null,
    120,
  );
  const { body } = await eventually(
    () => stage.demo.nova.ask('GET', `/servers/${id}/os-instance-actions`),
    ({ body }) => body.instanceActions[0]?.message !== null,
  );
  const ended = body.instanceActions[0]?.message ?? '';
  return { id, state: `${status}; its action: ${ended}`, message: fault };
}

export function seenOf(id: string, { status, fault }: Awaited<ReturnType<typeof show>>): Seen {
  return { id, state: status, message: fault.trim() };
}
