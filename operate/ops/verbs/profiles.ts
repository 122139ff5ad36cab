// Device profiles after their creation, which is Cyborg's own API's and the openstack client's.

import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import type { Input } from '#operate/command.ts';
import { type Answer, answer } from '#operate/ops/answers.ts';
import type { Api } from '#operate/ops/api.ts';
import { optionOf, projectOption, repeated, required } from '#operate/ops/arguments/options.ts';
import { shownDone, shownOne } from '#operate/ops/output/shown.ts';
import { type ApiVerb, type Argument, type Shown, wrongUsage } from '#operate/ops/verb.ts';
import { listColumns, rowAnswer } from './lists/list-columns.ts';

/** What a change sends back must be known. */
const whole = answer(operatorProfile, 'name', 'description', 'groups', 'revision', 'projects');
type Whole = Answer<typeof operatorProfile, 'name' | 'groups' | 'revision'>;

const oneProfile: Argument = { name: 'profile', help: "the profile's name or uuid" };
const pathOf = (input: Input) =>
  `${lists.profiles.path}/${encodeURIComponent(input.argument('profile'))}`;

interface Content extends Pick<Whole, 'name' | 'description' | 'groups' | 'projects'> {
  /** Those of the profile stay if it is absent. */
  readonly alternatives?: readonly Whole['groups'][];
}

/** Reads the profile and replaces it. The API refuses that if another change comes between. */
async function change(api: Api, input: Input, part: Partial<Content>): Promise<Whole> {
  const path = pathOf(input);
  const { name, description, groups, projects, revision } = await api.ask('GET', path, whole);
  const body = { name, description, groups, projects, ...part };
  return api.ask('PUT', path, whole, { body, revision });
}

function shownRevision({ name, revision }: Whole, sentence: string, answer: Whole): Shown {
  return shownDone(`${name}: ${sentence} It has revision ${revision} now.`, answer);
}

export const profileVerbs: readonly ApiVerb[] = [
  {
    path: ['profiles', 'show'],
    summary: 'a device profile with its revision, state and projects',
    arguments: [oneProfile],
    example: 'cyborg-ops profiles show fpga',
    ask: async (api, input) =>
      shownOne(listColumns('profiles'), await api.ask('GET', pathOf(input), rowAnswer('profiles'))),
  },
  {
    path: ['profiles', 'edit'],
    summary: 'new groups, alternatives or another description; what servers have stays',
    arguments: [oneProfile],
    options: {
      groups: optionOf('json', 'all groups, as in the answer of profiles show --json'),
      alternatives: optionOf('json', 'further lists of groups, the best first; [] for none'),
      description: optionOf('text', 'the new description'),
    },
    example: `cyborg-ops profiles edit fpga --groups '[{"resources:FPGA": "2"}]'`,
    async ask(api, input) {
      const [groups, description] = [input.text('groups'), input.text('description')];
      const alternatives = input.text('alternatives');
      if (groups === undefined && description === undefined && alternatives === undefined) {
        throw wrongUsage('Nothing to change: use --groups, --alternatives or --description.');
      }
      const changed = await change(api, input, {
        ...(groups !== undefined && { groups: parseGroups(groups) }),
        ...(alternatives !== undefined && { alternatives: parseAlternatives(alternatives) }),
        ...(description !== undefined && { description }),
      });
      return shownRevision(changed, 'changed.', changed);
    },
  },
  {
    path: ['profiles', 'rename'],
    summary: 'another name; flavors and servers with the earlier name keep working',
    arguments: [oneProfile, { name: 'name', help: 'the new name' }],
    example: 'cyborg-ops profiles rename fpga fpga-arria10',
    async ask(api, input) {
      const changed = await change(api, input, { name: input.argument('name') });
      return shownRevision(changed, `renamed from ${input.argument('profile')}.`, changed);
    },
  },
  {
    path: ['profiles', 'publish'],
    summary: 'who sees the profile: all, or the named projects',
    arguments: [oneProfile],
    options: {
      project: projectOption(
        repeated('project', 'only for this project, by name or id; without it, for all'),
      ),
    },
    example: 'cyborg-ops profiles publish fpga --project demo',
    async ask(api, input) {
      const projects = input.all('project');
      const named = projects.length > 0 ? [...projects] : null;
      const changed = await change(api, input, { projects: named });
      const seen = named ? `seen by ${projects.join(', ')} only.` : 'seen by all projects.';
      return shownRevision(changed, seen, changed);
    },
  },
  {
    path: ['profiles', 'disable'],
    summary: 'no new servers with the profile; what servers have stays',
    arguments: [oneProfile],
    options: { reason: required('text', 'why; users whose server is refused see it') },
    example: "cyborg-ops profiles disable fpga --reason 'use fpga-arria10'",
    async ask(api, input) {
      const body = { reason: input.required('reason') };
      const changed = await api.ask('POST', `${pathOf(input)}/disable`, whole, { body });
      return shownRevision(changed, 'no new servers.', changed);
    },
  },
  {
    path: ['profiles', 'enable'],
    summary: 'new servers with the profile again',
    arguments: [oneProfile],
    example: 'cyborg-ops profiles enable fpga',
    async ask(api, input) {
      const changed = await api.ask('POST', `${pathOf(input)}/enable`, whole);
      return shownRevision(changed, 'new servers again.', changed);
    },
  },
];

function parseAlternatives(text: string): Record<string, string>[][] {
  const lists = parseJson(text);
  if (Array.isArray(lists) && lists.every((each) => Array.isArray(each))) return lists;
  throw wrongUsage(
    '--alternatives must be a JSON list of lists of groups, such as [[{"resources:FPGA": "1"}]].',
  );
}

function parseGroups(text: string): Record<string, string>[] {
  const groups = parseJson(text);
  if (Array.isArray(groups)) return groups;
  throw wrongUsage('--groups must be a JSON list of groups, such as [{"resources:FPGA": "1"}].');
}
