// What operators read in an alarm: its description, its tag, its entry in a runbook, and
// the link to its query in Logs Insights.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  type AlarmEntry,
  type AlarmName,
  alarmEntries,
  inStage,
  severities,
} from '#infra/monitoring/alarm-entries.ts';
import { logsInsightsUrl } from '#infra/monitoring/logs-insights.ts';
import { runbookOf } from '#infra/monitoring/runbooks.ts';
import { stage, synthesize, withDomain } from '#infra/privileges/synthesized.ts';
import { parse } from '#operate/ops/arguments/parse.ts';
import { table } from '#operate/ops/table.ts';
import { runbooks } from './runbooks.ts';

const entries = Object.entries(alarmEntries) as [AlarmName, AlarmEntry][];
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(read('package.json'));

const alarmsOf = (context: Readonly<Record<string, unknown>> = {}) =>
  synthesize({ ...withDomain, ...context })
    .ofType('AWS::CloudWatch::Alarm')
    .map(({ properties }) => properties);
const shipped = synthesize(withDomain);
const ofShipped = (name: string) =>
  shipped
    .ofType('AWS::CloudWatch::Alarm')
    .find(({ properties }) => properties.AlarmName === `${stage}-${name}`)?.properties;

describe('the link to Logs Insights', () => {
  const link = (query: string, ...groups: string[]) =>
    logsInsightsUrl('eu-north-1', { groups, query });

  it('is the address that the console writes', () => {
    expect(link('fields @timestamp, @message\n| limit 20', '/aws/lambda/prod-sweep')).toBe(
      "https://eu-north-1.console.aws.amazon.com/cloudwatch/home?region=eu-north-1#logsV2:logs-insights$3FqueryDetail$3D~(end~0~start~-3600~timeType~'RELATIVE~unit~'seconds~editorString~'fields*20*40timestamp*2c*20*40message*0a*7c*20limit*2020~source~(~'*2faws*2flambda*2fprod-sweep))",
    );
  });

  it('names several log groups, each as a text', () => {
    expect(link('x', '/a', '/b')).toMatch(/~source~\(~'\*2fa~'\*2fb\)\)$/);
  });

  it.each(['~', "'", '(', ')', '*', '$', '%', '"', '=', ' ', '/', '\u00e9'])(
    'escapes %j, which has a meaning in the address or is not ASCII',
    (character) => {
      const escaped = [...Buffer.from(character)].map((byte) => `*${byte.toString(16)}`).join('');
      expect(link(`a${character}b`, '/g')).toContain(`editorString~'a${escaped}b~source`);
    },
  );

  it('leaves letters, digits and ".-_" as they are', () => {
    expect(link('aZ09.-_', '/g')).toContain("editorString~'aZ09.-_~source");
  });
});

describe.each(entries)('the alarm %s', (name, { severity, meaning, firstCommand, logs }) => {
  const { AlarmDescription: text = '', Tags = [] } = ofShipped(name) ?? {};

  it('says what it means, how urgent it is, what to run first, and where to read on', () => {
    const lines = text.split('\n');
    expect(lines.slice(0, 4)).toEqual([
      meaning,
      `Severity: ${severity}`,
      `First: ${inStage(stage, firstCommand)}`,
      `Runbook: docs/operations.md#${name} at tag v${version}`,
    ]);
    const groups = logs?.groups.map((group) => inStage(stage, group)) ?? [];
    const link = logs && `Logs: ${logsInsightsUrl('us-east-1', { groups, query: logs.query })}`;
    expect(lines.slice(4)).toEqual(link ? [link] : []);
    expect(text).not.toContain('<stage>');
    expect(meaning).toMatch(/^[A-Z].+\.$/);
  });

  it('has its severity as a tag', () => {
    expect(severities).toContain(severity);
    expect(Tags).toContainEqual({ Key: 'severity', Value: severity });
  });

  it('reads logs that exist', () => {
    const groups = shipped.ofType('AWS::Logs::LogGroup').map(({ properties }) => {
      return properties.LogGroupName;
    });
    for (const group of logs?.groups ?? []) expect(groups).toContain(inStage(stage, group));
  });

  it('has its entry in a runbook, from the first line to the last', () => {
    const [, rest = ''] = runbooks.split(`\n## \`${name}\`\n\n`);
    const [entry = ''] = rest.split(/^#{2,4} /m);
    expect(entry).toMatch(
      new RegExp(`^Severity: \`${severity}\`\\.\nFirst run:\n\n\`\`\`sh\n(.+)\n\`\`\`\n\n`),
    );
    const [, command] = /^```sh\n(.+)\n```$/m.exec(entry) ?? [];
    expect(command).toBe(firstCommand);
    const [, groups, query] =
      /^Then query (.+) in Logs Insights:\n\n```\n(.+)\n```$/m.exec(entry) ?? [];
    expect(query).toBe(logs?.query);
    const named = groups && [...groups.matchAll(/`([^`]+)`/g)].map(([, group]) => group);
    expect(named).toEqual(logs?.groups);
    expect(entry.trimEnd().split('\n').at(-1)).toMatch(/^The alarm ends when .+\.$/);
  });
});

it('have entries for all alarms, and no other', () => {
  const names = alarmsOf().map(({ AlarmName }) => AlarmName.slice(`${stage}-`.length));
  expect(entries.map(([name]) => name).sort()).toEqual(names.sort());
});

it('quote messages that the code logs', () => {
  const sources = ['core', 'functions'].flatMap((folder) =>
    readdirSync(new URL(`../../${folder}/`, import.meta.url), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => read(`${folder}/${path}`)),
  );
  const quoted = entries.flatMap(
    ([, { logs }]) => /message = "(.+?)"/.exec(logs?.query ?? '')?.[1] ?? [],
  );
  expect(quoted.length).toBeGreaterThan(5);
  for (const message of quoted) {
    const event = message.replace('disconnected', '$' + '{event.eventType}');
    expect(
      sources.some((source) => source.includes(event)),
      message,
    ).toBe(true);
  }
});

it('fit what CloudWatch keeps, with the longest settings and in any region', () => {
  const longestRegion = 'ap-southeast-1';
  const address = `https://${'r'.repeat(128 - 'https://'.length)}`;
  for (const { AlarmName, AlarmDescription } of alarmsOf({
    stage: 's'.repeat(15),
    runbooks: address,
  })) {
    const text = AlarmDescription.replaceAll('us-east-1', longestRegion);
    expect(text.length, AlarmName).toBeLessThanOrEqual(1024);
  }
});

it("have the platform team's address, if it is set", () => {
  const runbooks = 'https://wiki.example.org/cyborg';
  for (const { AlarmName, AlarmDescription } of alarmsOf({ runbooks })) {
    const name = AlarmName.slice(`${stage}-`.length);
    expect(AlarmDescription).toContain(`Runbook: ${runbooks}#${name}\n`.trimEnd());
  }
  expect(runbookOf('x', undefined)).toBe(`docs/operations.md#x at tag v${version}`);
});

it('begin with a command of cyborg-ops that exists, or with one of aws', () => {
  for (const [, { firstCommand }] of entries) {
    if (firstCommand.startsWith('aws ')) continue;
    const [command, ...words] = inStage(stage, firstCommand).split(' ');
    expect(command).toBe('cyborg-ops');
    expect(['api', 'stack']).toContain(parse(words, table, Date.now()).kind);
  }
});
