// The agent's command check, beside a broker that wants a certificate of each client.

import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBroker } from '#local/aws/broker.ts';
import { type CertificateFiles, openCertificates } from '#local/aws/certificates.ts';
import { DomainFolder } from '#test/support/hosts/domain-folder.ts';
import { directoryPerFile, perTest } from '#test/support/vitest/shared.ts';
import { card, createCommandHost } from './command-host.ts';

const directory = directoryPerFile();
const certificates = openCertificates(directory);
const others = openCertificates(join(directory, 'others'));
const thing = 'test:cmp1:example';
let broker: Awaited<ReturnType<typeof startBroker>>;
let sessions = 0;
const host = perTest(createCommandHost);

beforeAll(async () => {
  broker = await startBroker({
    stage: 'test',
    certificates: certificates.server,
    deliver: async () => {
      sessions += 1;
    },
  });
});

afterAll(() => broker.stop());
beforeEach(() => host.offer({ address: card, clean: 'reset' }));
async function check(
  files: CertificateFiles,
  given: Partial<Record<'ENDPOINT' | 'KEY', string>> = {},
) {
  Object.assign(host.environment, {
    CYBORG_AGENT_ENDPOINT: given.ENDPOINT ?? `localhost:${broker.port}`,
    CYBORG_AGENT_CERTIFICATE: files.certificateFile,
    CYBORG_AGENT_KEY: given.KEY ?? files.keyFile,
    CYBORG_AGENT_CA: certificates.server.authorityFile,
  });
  return host.agent(['check']);
}

describe('check', () => {
  it('tells that the agent can work, and opens no session', async () => {
    const { output } = await check(certificates.issueHostCertificate(thing));
    expect(output).toMatch(/^seen {6}certificate: Is valid for 39\d days, until /m);
    const taken = `seen      broker: localhost:${broker.port} takes the certificate, by TLSv1.3.`;
    expect(output).toContain(taken);
    expect(output).toMatch(/^(seen {6}|not seen {2}|FAILED {4})clock: /m);
    expect(output).toContain('seen      pci: Devices that discovery finds: 1');
    expect(sessions).toBe(0);
  });

  it('tells which programs a driver would run', async () => {
    delete host.environment.CYBORG_AGENT_PCI;
    host.haveDriver(
      'npu',
      `export default ({ defineDriver }) =>
        defineDriver({
          name: 'npu',
          create: () => ({
            name: 'npu',
            discover: async () => ({ devices: {} }),
            examineTools: async () => [{ outcome: 'not seen', what: 'npu-smi is of version 9.9.' }],
          }),
        });`,
    );
    const { output } = await check(certificates.issueHostCertificate(thing));
    expect(output).toContain('not seen  npu: npu-smi is of version 9.9.\n');
  });

  it('tells what of servers it sees in the folder of libvirt', async () => {
    const domains = new DomainFolder();
    host.environment.CYBORG_AGENT_DOMAINS_DIR = domains.path;
    const files = certificates.issueHostCertificate(thing);
    const line = (output: string) => /^.* libvirt: (.*)$/m.exec(output)?.[0];
    const absent = `Functions of servers are not all known: ${domains.path} is absent.`;
    try {
      const without = await check(files);
      expect(line(without.output)).toBe(`FAILED    libvirt: ${absent}`);
      expect(without.code).toBe(1);
      domains.define('instance-0000001f', [card]).define('instance-00000020', []);
      const { output } = await check(files);
      const seen = `Servers in ${domains.path}: 2, with 1 PCI functions.`;
      expect(line(output)).toBe(`seen      libvirt: ${seen}`);
      const reason = 'belongs to a server: the domain instance-0000001f of libvirt has it';
      expect(output).toContain(reason);
    } finally {
      domains.remove();
    }
  });

  it.each([
    [
      'the key of another certificate',
      () => check(certificates.server, { KEY: certificates.issueHostCertificate(thing).keyFile }),
      'FAILED    certificate: Is of another key.',
    ],
    [
      'a certificate that the broker does not know',
      () => check(others.issueHostCertificate(thing)),
      'FAILED    broker: ',
    ],
    [
      'a broker that is away',
      () => check(certificates.issueHostCertificate(thing), { ENDPOINT: 'localhost:1' }),
      'FAILED    broker: ',
    ],
  ])('fails for %s', async (_what, checked, line) => {
    const { code, output } = await checked();
    expect(output).toContain(line);
    expect(code).toBe(1);
  });
});
