// What `npm start` prints once the system is up: addresses, tokens, and the calls of one server.

import { isAbsolute } from 'node:path';
import { firstFlavor, firstImage } from './demo/first-server.ts';
import { password } from './openstack/keystone/catalog.ts';
import { cloudsFileName } from './process/clouds-file.ts';
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
  return [
    ...services,
    `  console    ${consoleUrl(layout)}`,
    `  logs       ${state}/logs`,
    `  announced  ${state}/events.jsonl`,
    '',
    ...(hasAllFakes(layout) ? firstSteps(layout, state) : stepsAtOthers(layout)),
    '',
    `What is wrong, if something is: npx cyborg-ops doctor --environment ${state}/environment.json`,
  ];
}

/** Whether all of OpenStack is the fakes', so that the first server can be prepared. */
export function hasAllFakes({ replaced }: Layout): boolean {
  const fakes = ['keystone', 'placement', 'nova', 'glance'] as const;
  return !fakes.some((name) => replaced.includes(name));
}

function firstSteps(layout: Layout, state: string): readonly string[] {
  const file = isAbsolute(state) ? state : `$PWD/${state}`;
  const server = `{"server":{"name":"vm1","flavorRef":"${firstFlavor}"}}`;
  const asDemo = '-H "X-Auth-Token: demo-token" -H "Content-Type: application/json"';
  return [
    'A first server with an accelerator, from another shell:',
    `  export OS_CLIENT_CONFIG_FILE="${file}/${cloudsFileName}" OS_CLOUD=admin`,
    '  openstack accelerator device list',
    `  openstack --os-cloud demo server create vm1 --flavor ${firstFlavor} --image ${firstImage} --nic none --wait`,
    '  npx cyborg-ops who-uses --host cmp1',
    `The same server without OpenStack's clients:`,
    `  curl -s ${asDemo} ${urlOf(layout, 'nova')}/v2.1/servers -d '${server}'`,
    '',
    `Users: ${userNames.join(', ')}; password ${password}; project admin, or demo`,
    `Tokens: ${tokens.join(', ')}`,
  ];
}

/** With a part of OpenStack that is not the fake: its users, flavors and images are its own. */
function stepsAtOthers(layout: Layout): readonly string[] {
  const isOwn = layout.replaced.includes('keystone');
  const token = isOwn ? '$TOKEN' : 'admin-token';
  const call = `curl -s -H "X-Auth-Token: ${token}" -H "Content-Type: application/json"`;
  const profile =
    '[{"name":"fpga","groups":[{"resources:FPGA":"1","trait:CUSTOM_FAKE_DEVICE":"required"}]}]';
  return [
    isOwn ? 'Users and tokens are those of your Keystone:' : `Tokens: ${tokens.join(', ')}`,
    ...(isOwn
      ? ['  TOKEN=$(openstack token issue -f value -c id)      # with the role admin']
      : []),
    'A server with an accelerator, step by step:',
    `  ${call} ${apiUrl(layout)}/devices`,
    `  ${call} ${apiUrl(layout)}/device_profiles \\\n    -d '${profile}'`,
    '  openstack flavor create accel --vcpus 1 --ram 64 --disk 1 --property accel:device_profile=fpga',
    '  openstack server create vm1 --flavor accel --image IMAGE --network NETWORK --wait',
    `  ${call} ${apiUrl(layout)}/accelerator_requests      # Bound`,
  ];
}
