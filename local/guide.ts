// What `npm start` prints once the system is up: addresses, tokens, and the calls of one server.

import { password } from './openstack/keystone/catalog.ts';
import { type Layout, portNames, replacedBy, urlOf } from './process/layout.ts';
import { apiUrl, consoleUrl } from './process/parts.ts';

const userNames = ['admin', 'reader', 'manager', 'demo'];
const tokens = ['admin', 'demo', 'reader', 'manager', 'alt', 'nova'].map((name) => `${name}-token`);

/**
 * @param state the folder of the state, as a user would type it
 * @param environment has the addresses of the services that replace parts
 */
export function guideLines(
  layout: Layout,
  state: string,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const services = portNames.map((name) => {
    const variable = replacedBy[name];
    const where = layout.replaced.includes(name)
      ? `${environment[variable ?? '']} (from ${variable})`
      : urlOf(layout, name);
    return `  ${name.padEnd(10)} ${where}`;
  });
  const hasOwnKeystone = layout.replaced.includes('keystone');
  return [
    ...services,
    `  console    ${consoleUrl(layout)}`,
    `  logs       ${state}/logs`,
    `  announced  ${state}/events.jsonl`,
    '',
    ...(hasOwnKeystone ? signInAtKeystone : signInHere),
    '',
    'A server with an accelerator, step by step:',
    ...serverSteps(layout),
    '',
    `What is wrong, if something is: npx cyborg-ops doctor --environment ${state}/environment.json`,
  ];
}

const signInHere = [
  `Tokens: ${tokens.join(', ')}`,
  `Users of the console: ${userNames.join(', ')}; password ${password}; project admin, or demo`,
];

const signInAtKeystone = [
  'Users and tokens are those of your Keystone, here of a user with the role admin:',
  '  TOKEN=$(openstack token issue -f value -c id)',
];

function serverSteps(layout: Layout): readonly string[] {
  const api = apiUrl(layout);
  const isOwn = layout.replaced.includes('keystone');
  const as = (token: string) => `-H "X-Auth-Token: ${isOwn ? '$TOKEN' : token}"`;
  const json = '-H "Content-Type: application/json"';
  const nova = `${urlOf(layout, 'nova')}/v2.1`;
  const flavor = '{"flavor":{"id":"1","name":"accel","vcpus":1,"ram":64,"disk":1}}';
  const specs = '{"extra_specs":{"accel:device_profile":"fpga"}}';
  const server = '{"server":{"name":"vm1","flavorRef":"1"}}';
  const profile =
    '[{"name":"fpga","groups":[{"resources:FPGA":"1","trait:CUSTOM_FAKE_DEVICE":"required"}]}]';
  const boot = layout.replaced.includes('nova')
    ? [
        'openstack flavor create accel --vcpus 1 --ram 64 --disk 1 --property accel:device_profile=fpga',
        'openstack server create vm1 --flavor accel --image IMAGE --network NETWORK --wait',
      ]
    : [
        `curl -s ${as('admin-token')} ${json} ${nova}/flavors -d '${flavor}'`,
        `curl -s ${as('admin-token')} ${json} ${nova}/flavors/1/os-extra_specs -d '${specs}'`,
        `curl -s ${as('demo-token')} ${json} ${nova}/servers -d '${server}'`,
        `sleep 1; curl -s ${as('demo-token')} ${nova}/servers/detail      # ACTIVE`,
      ];
  return [
    `curl -s ${as('admin-token')} ${api}/devices`,
    `curl -s ${as('admin-token')} ${json} ${api}/device_profiles \\\n    -d '${profile}'`,
    ...boot,
    `curl -s ${as('demo-token')} ${api}/accelerator_requests      # Bound`,
  ].map((line) => `  ${line}`);
}
