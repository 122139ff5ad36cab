// Words of the command line become a verb and what was given to it, or a sentence that names the
// wrong word and what is allowed.

import { describe, expect, it } from 'vitest';
import { type Parsed, parse } from '#operate/ops/arguments/parse.ts';
import { table } from '#operate/ops/table.ts';
import { CommandFailed } from '#operate/ops/verb.ts';
import { wordsOf } from './command-lines.ts';

const now = Date.parse('2026-11-23T00:00:00Z');
const read = (line: string) => parse(wordsOf(line), table, now);

function inputOf(line: string) {
  const parsed = read(line);
  if (!('input' in parsed)) throw new Error(`${line} is ${parsed.kind}`);
  return parsed.input;
}

describe('a command line', () => {
  it('takes the verb list when a resource stands alone', () => {
    expect(read('hosts')).toMatchObject({ kind: 'api', verb: { path: ['hosts', 'list'] } });
    expect(read('hosts --state away')).toMatchObject({ verb: { path: ['hosts', 'list'] } });
  });

  it('may have its options before, between and after its words', () => {
    for (const line of [
      '--os-cloud prod hosts show cmp1 --json',
      'hosts --os-cloud=prod --json show cmp1',
      'hosts show --json cmp1 --os-cloud prod',
    ]) {
      expect(inputOf(line).argument('host')).toBe('cmp1');
      expect(inputOf(line).text('os-cloud')).toBe('prod');
      expect(inputOf(line).has('json')).toBe(true);
    }
  });

  it('takes a value that begins with a hyphen after =', () => {
    expect(inputOf('hosts drain cmp1 --reason=-5V').text('reason')).toBe('-5V');
  });

  it('takes words after -- for arguments', () => {
    expect(inputOf('hosts show -- --cmp1').argument('host')).toBe('--cmp1');
  });

  it('has verbs of two words', () => {
    const line = 'firmware baseline set 8086:0b30 bmc 2.0';
    expect(read(line)).toMatchObject({ verb: { path: ['firmware', 'baseline set'] } });
    expect(inputOf(line).argument('version')).toBe('2.0');
    expect(() => read('firmware baseline')).toThrow('Unknown verb baseline of firmware');
  });

  it('takes several arguments where the table says so', () => {
    expect(inputOf('quota set p1 VGPU=40 FPGA=2').repeated('class=limit')).toEqual([
      'VGPU=40',
      'FPGA=2',
    ]);
  });

  it.each([
    ['hosts drain cmp1 --reason x --until 4h', 'until', '2026-11-23T04:00:00Z'],
    ['hosts drain cmp1 --reason x --until 2027-01-01T12:00+01:00', 'until', '2027-01-01T11:00:00Z'],
    ['history --from 7d', 'from', '2026-11-16T00:00:00Z'],
    ['history --from 2026-03-01', 'from', '2026-03-01T00:00:00Z'],
    ['usage --to 90m', 'to', '2026-11-22T22:30:00Z'],
  ])('%s has the time %s %s', (line, option, time) => {
    expect(inputOf(line).text(option)).toBe(time);
  });

  it.each<[string, Parsed]>([
    ['--help', { kind: 'help', path: [] }],
    ['', { kind: 'help', path: [] }],
    ['-h', { kind: 'help', path: [] }],
    ['hosts --help', { kind: 'help', path: ['hosts'] }],
    ['hosts drain --help', { kind: 'help', path: ['hosts', 'drain'] }],
    ['doctor --help', { kind: 'help', path: ['doctor'] }],
    ['--version', { kind: 'version' }],
  ])('%s asks for help or the version', (line, expected) => {
    expect(read(line)).toEqual(expected);
  });

  it.each([
    ['host show cmp1', ['hosts', 'show']],
    ['device list', ['devices', 'list']],
    ['incident', ['incidents']],
    ['quotas list', ['quota', 'list']],
  ])('%s is in the singular or the plural', (line, path) => {
    expect(read(line)).toMatchObject({ kind: 'api', verb: { path } });
  });

  it('--server is --instance', () => {
    expect(inputOf('who-uses --server i1').text('instance')).toBe('i1');
  });

  it('-f and -c are --format and --column', () => {
    const input = inputOf('hosts -f csv -c host -c state');
    expect([input.text('format'), input.all('column')]).toEqual(['csv', ['host', 'state']]);
  });

  it('gives a command on the stack each value of a repeated option', () => {
    const line = 'import nova-pci --conf nova.conf --conf=more.conf';
    expect(read(line)).toMatchObject({ kind: 'stack', verb: { path: ['import', 'nova-pci'] } });
    expect(inputOf(line).all('conf')).toEqual(['nova.conf', 'more.conf']);
  });

  it('takes no host of an argument that is optional', () => {
    expect(inputOf('enrol remove --all --stage prod').repeated('host')).toEqual([]);
  });
});

describe('a wrong command line', () => {
  it.each([
    ['hots', 'Unknown command hots (did you mean hosts?): it must be one of hosts, devices, '],
    ['frmware', 'Unknown command frmware (did you mean firmware?): it must be one of hosts, '],
    ['servers', 'Unknown command servers: it must be one of hosts, devices, '],
    ['--jsn', 'Unknown option --jsn of cyborg-ops: it has none.'],
    ['hosts lst', 'Unknown verb lst of hosts (did you mean list?): it must be one of list, show, '],
    ['maintenance', 'The verb of maintenance is missing: it must be one of drain, resume.'],
    ['hosts show', "hosts show needs <host>: the compute node's name in Nova."],
    ["hosts show ''", 'hosts show needs <host>'],
    ['hosts show cmp1 cmp2', 'Unexpected argument cmp2 of hosts show.'],
    ['capacity', "capacity needs <profile>: the device profile's name or uuid."],
    ['hosts drain cmp1', 'hosts drain needs --reason: why; '],
    ['hosts list --stat away', 'hosts list (did you mean --state?): it must be one of --state, '],
    ['hosts list --server x', 'Unknown option --server of hosts list: it must be one of --state, '],
    ['hosts list -f xml', '--format xml must be one of table, json, yaml, csv, value.'],
    ['hosts list --state gone', '--state gone must be one of online, drained, away, conflict, '],
    ['hosts list --state', 'The value of --state <state> is missing.'],
    ['hosts list --state=', 'The value of --state <state> is missing.'],
    ['hosts list --state --json', 'write --state=--json if it is --json.'],
    ['hosts list --json=yes', '--json takes no value.'],
    ['hosts list --json --json', 'Duplicate option --json.'],
    ['hosts list --limit 0', '--limit 0 must be an integer from 1.'],
    ['hosts list --limit 1e3', '--limit 1e3 must be an integer from 1.'],
    ['history --from yesterday', '--from yesterday must be a time such as 2026-03-01T12:00:00Z'],
    ['history --from 2026-03-01T12:00:00', '--from 2026-03-01T12:00:00 must be a time'],
    ['history --from 2026-13-01', '--from 2026-13-01 must be a time'],
    ['completion fish', '<shell> fish must be one of bash, zsh.'],
  ])('%s: %s', (line, sentence) => {
    expect(() => read(line)).toThrow(CommandFailed);
    expect(() => read(line)).toThrow(sentence);
  });

  it.each(['os-password', 'os-token', 'os-application-credential-secret'])(
    'with --%s is told the variable, without the secret',
    (option) => {
      const variable = option.toUpperCase().replaceAll('-', '_');
      for (const line of [`hosts list --${option}=s3cret`, `hosts list --${option} s3cret`]) {
        expect(() => read(line)).toThrow(`set ${variable}.`);
        expect(() => read(line)).not.toThrow(/s3cret/);
      }
    },
  );

  it('has no value of an unknown option in its sentence', () => {
    expect(() => read('hosts list --os-pasword=s3cret')).toThrow('--os-pasword');
    expect(() => read('hosts list --os-pasword=s3cret')).not.toThrow(/s3cret/);
    expect(() => read('hosts list --os-pasword s3cret')).not.toThrow(/s3cret/);
  });
});
