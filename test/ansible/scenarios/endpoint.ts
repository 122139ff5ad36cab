// The role cyborg_endpoint, with `cyborg-ops` and a fake of Keystone.

import { join } from 'node:path';
import { password } from '#local/openstack/keystone/catalog.ts';
import { type FakeKeystone, startKeystone } from '#local/openstack/keystone/keystone.ts';
import { type Played, play, type Stage } from '#test/ansible/play.ts';
import { contains, equal, lacks, type Scenario } from './scenario.ts';

const root = join(import.meta.dirname, '../../..');
const url = 'https://accelerator.example.org/accelerator/v2';
const secret = 'of-the-service-user';

export function endpointScenarios(stage: Stage): readonly Scenario[] {
  let keystone: FakeKeystone;
  const register = async (
    given: Readonly<Record<string, unknown>> = {},
    options: readonly string[] = [],
  ): Promise<Played> => {
    const variables = {
      cyborg_endpoint_url: url,
      cyborg_endpoint_command: [process.execPath, join(root, 'operate/cyborg-ops.ts')],
      cyborg_endpoint_environment: {
        OS_AUTH_URL: keystone.url,
        OS_USERNAME: 'admin',
        OS_PASSWORD: password,
        OS_PROJECT_NAME: 'admin',
        OS_REGION_NAME: 'RegionOne',
        CYBORG_PASSWORD: secret,
      },
      ...given,
    };
    const played = await play(stage, 'cyborg_endpoint', variables, ['-vv', ...options]);
    lacks(played.output, secret);
    return played;
  };
  const endpoints = async () => {
    const headers = { 'X-Auth-Token': 'admin-token' };
    const answer = await fetch(`${keystone.url}/endpoints`, { headers });
    const body = (await answer.json()) as { readonly endpoints: readonly { url: string }[] };
    return body.endpoints.filter((each) => each.url.includes('accelerator')).length;
  };
  return [
    {
      name: 'check mode says that the endpoint would change, and makes nothing',
      run: async () => {
        const stateFile = join(stage.directory, 'keystone');
        keystone = await startKeystone({ host: '127.0.0.1', port: 0, stateFile });
        const { code, changed, output } = await register({}, ['--check']);
        equal([code, changed, await endpoints()], [0, 1, 0], output);
      },
    },
    {
      name: 'the service gets its endpoints, and the second run changes nothing',
      run: async () => {
        const first = await register();
        equal([first.code, first.changed, await endpoints()], [0, 1, 3], first.output);
        const second = await register();
        equal([second.code, second.changed], [0, 0], second.output);
      },
    },
    {
      name: 'an endpoint with another URL fails the play, and is moved if the operator says so',
      run: async () => {
        const other = { cyborg_endpoint_url: 'https://other.example.org/accelerator/v2' };
        const refused = await register(other);
        equal([refused.code, refused.changed], [2, 0], refused.output);
        contains(refused.output, url);
        const moved = await register({ ...other, cyborg_endpoint_update: true });
        equal([moved.code, moved.changed], [0, 1], moved.output);
      },
    },
    {
      name: 'a Keystone that is away fails the play with its sentence',
      run: async () => {
        await keystone.stop();
        const { code, output } = await register();
        equal(code, 2, output);
        contains(output, 'Keystone');
      },
    },
  ];
}
