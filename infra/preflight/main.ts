// `npm run -s preflight -- -c stage=prod ...`: says what would make a deployment fail, before
// anything is bundled or created. It takes the settings of `cdk deploy`.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { App } from 'aws-cdk-lib';
import { openAws } from '#core/clients/aws/call.ts';
import { runCommand, WrongArguments } from '#core/command-line/arguments.ts';
import { type Finding, perform, printFindings } from '#core/command-line/checks.ts';
import { DeploymentInvalid, readSettings } from '#infra/settings/settings.ts';
import type { CheckContext } from './check.ts';
import { checks } from './checks.ts';

const usage = `npm run -s preflight -- [-c <name>=<value>] ...

Looks at the settings, the account and its region, changes nothing, and exits with 1 if the
deployment would fail.

-c    a setting, as for cdk deploy; the others are those of cdk.json`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { context: { type: 'string', short: 'c', multiple: true, default: [] } },
  });
  const options = values.context.map((setting) => `-c ${setting}`).join(' ');
  const settings = readSettings(new App({ context: contextOf(values.context) }).node);
  const context: CheckContext = { settings, aws: await openAws(), options, facts: {} };
  await printFindings(look(context));
}

async function* look(context: CheckContext): AsyncGenerator<Finding> {
  for (const check of checks) yield await perform(check, context);
}

/** The context of cdk.json with what the command line gives. @throws WrongArguments */
function contextOf(settings: readonly string[]): Record<string, unknown> {
  const file = new URL('../../cdk.json', import.meta.url);
  const { context } = JSON.parse(readFileSync(file, 'utf8')) as { context: object };
  const fromArguments = settings.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new WrongArguments(`-c ${text} must be <name>=<value>.`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  return { ...context, ...Object.fromEntries(fromArguments) };
}

await runCommand(usage, main, (error) => error instanceof DeploymentInvalid);
