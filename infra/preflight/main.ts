// `npm run -s preflight -- -c stage=prod ...`: says what would make a deployment fail, before
// anything is bundled or created. It takes the settings of `cdk deploy`.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { App } from 'aws-cdk-lib';
import { runCommand, sentenceOf, WrongArguments } from '#core/command-line/arguments.ts';
import { print } from '#core/command-line/print.ts';
import { DeploymentInvalid, readSettings } from '#infra/settings.ts';
import { openAws } from './aws-call.ts';
import { type Check, type CheckContext, CheckFailed, Undetermined } from './check.ts';
import { checks } from './checks.ts';

const usage = `npm run -s preflight -- [-c <name>=<value>] ...

Looks at the settings, the account and its region, changes nothing, and exits with 1 if the
deployment would fail.

-c    a setting, as for cdk deploy; the others are those of cdk.json`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { context: { type: 'string', short: 'c', multiple: true, default: [] } },
  });
  const options = values.context.map((given) => `-c ${given}`).join(' ');
  const settings = readSettings(new App({ context: contextOf(values.context) }).node);
  const context: CheckContext = { settings, aws: await openAws(), options, found: {} };
  const counts = { ok: 0, WRONG: 0, unseen: 0 };
  for (const check of checks) counts[await perform(check, context)] += 1;
  print(`${counts.ok} ok, ${counts.WRONG} wrong, ${counts.unseen} undetermined`);
  process.exitCode = counts.WRONG > 0 ? 1 : 0;
}

/** The context of cdk.json with what the command line gives. @throws WrongArguments */
function contextOf(given: readonly string[]): Record<string, unknown> {
  const file = new URL('../../cdk.json', import.meta.url);
  const { context } = JSON.parse(readFileSync(file, 'utf8')) as { context: object };
  const own = given.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new WrongArguments(`-c ${text} must be <name>=<value>.`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  return { ...context, ...Object.fromEntries(own) };
}

async function perform(check: Check, context: CheckContext): Promise<'ok' | 'WRONG' | 'unseen'> {
  try {
    print(`ok     ${check.name}: ${await check.look(context)}`);
    return 'ok';
  } catch (error) {
    if (error instanceof Undetermined) {
      print(`  --   ${check.name}: ${error.message}`);
      return 'unseen';
    }
    const remedy = error instanceof CheckFailed ? error.remedy : check.remedy;
    print(`WRONG  ${check.name}: ${faultOf(error as Error)}`);
    print(`       → ${remedy}`);
    return 'WRONG';
  }
}

/** Node hides the reason of a failed connection in the cause. */
function faultOf(error: Error): string {
  const { cause } = error as { cause?: Error };
  return cause ? `${error.message}: ${cause.message}` : sentenceOf(error);
}

await runCommand(usage, main, (error) => error instanceof DeploymentInvalid);
