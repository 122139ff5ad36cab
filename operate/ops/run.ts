// One call of cyborg-ops, from its words to its exit code.

import { setTimeout as sleep } from 'node:timers/promises';
import { agentVersion } from '#agent/version.ts';
import { createHttp, type Fetch, type Http, ServiceUnavailable } from '#core/clients/http.ts';
import { runCommand } from '#core/command-line/arguments.ts';
import { oneLine, print, printable, printError } from '#core/command-line/print.ts';
import { createFetch, type Trust } from '#operate/any-port-fetch.ts';
import type { Input } from '#operate/command.ts';
import { loadEnvironment } from '#operate/environment.ts';
import { createApi } from './api.ts';
import { complete } from './arguments/completion.ts';
import { completeWord } from './arguments/completion-scripts.ts';
import { makeHelp } from './arguments/help.ts';
import { type Parsed, parse } from './arguments/parse.ts';
import { formatOf, printedLines } from './output/formats.ts';
import { openTerminal, type Terminal } from './output/terminal.ts';
import { type ReadFile, readCloud, readFileIfPresent } from './sign-in/cloud-files.ts';
import { type Credentials, readCredentials } from './sign-in/credentials.ts';
import { withProjectIds } from './sign-in/find-project.ts';
import { createKeystone } from './sign-in/keystone.ts';
import { logIn, signIn } from './sign-in/sign-in.ts';
import { connectionOptions, table } from './table.ts';
import { type ApiVerb, CommandFailed, exitCodes, type Shown, wrongUsage } from './verb.ts';

/** A list of 1,000 rows takes longer than what a Lambda function waits for. */
const timeoutMs = 60_000;

/** The process around a call. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: ReadFile;
  readonly createFetch: (trust: Trust) => Fetch;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Columns of the terminal, or COLUMNS; else unlimited. */
  readonly width: number;
  /** A document, or a text of the command itself. */
  readonly out: (text: string) => void;
  /** A line of a table, or of a text about the cloud. */
  readonly show: Terminal['show'];
  readonly draw?: Terminal['draw'];
  readonly err: (text: string) => void;
}

export function readSurroundings(process: NodeJS.Process): Surroundings {
  return {
    environment: process.env,
    readFile: readFileIfPresent,
    createFetch,
    clock: Date.now,
    sleep,
    width: process.stdout.columns || Number(process.env.COLUMNS) || Number.POSITIVE_INFINITY,
    out: print,
    ...openTerminal(process.stdout, process.env),
    err: printError,
  };
}

/** @returns the exit code; undefined where the command sets it itself */
export async function run(
  words: readonly string[],
  around: Surroundings,
): Promise<number | undefined> {
  if (words[0] === completeWord) {
    for (const each of complete(words.slice(1), table)) around.out(each);
    return exitCodes.done;
  }
  try {
    return await perform(parse(words, table, around.clock()), around);
  } catch (error) {
    const { exitCode, sentence } = toFailure(error);
    around.err(sentence);
    return exitCode;
  }
}

async function perform(parsed: Parsed, around: Surroundings): Promise<number | undefined> {
  if (parsed.kind === 'stack') {
    const { main, isRefusal } = await parsed.verb.load();
    const usage = makeHelp([parsed.verb.path[0]], table);
    const settings = parsed.input.text('environment');
    const start = async () => {
      if (settings !== undefined) loadEnvironment(settings);
      await main(parsed.input);
    };
    await runCommand(usage, start, isRefusal);
    return undefined;
  }
  if (parsed.kind === 'api') return await show(parsed, around);
  if (parsed.kind === 'local') around.out(parsed.verb.print(parsed.input));
  if (parsed.kind === 'help') around.out(makeHelp(parsed.path, table));
  if (parsed.kind === 'version') around.out(agentVersion);
  return exitCodes.done;
}

async function show(
  { verb, input }: Extract<Parsed, { readonly kind: 'api' }>,
  around: Surroundings,
): Promise<number> {
  const credentials = findCredentials(input, around);
  const { caFile, isInsecure } = credentials;
  const ca = caFile === undefined ? undefined : around.readFile(caFile);
  if (caFile !== undefined && ca === undefined) {
    throw wrongUsage(`OS_CACERT names ${caFile}, which does not exist.`);
  }
  if (ca !== undefined && !/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/.test(ca)) {
    throw wrongUsage(`OS_CACERT names ${caFile}, which has no certificate in PEM.`);
  }
  const http = createHttp({ fetch: around.createFetch({ ca, isInsecure }), timeoutMs });
  const shown =
    'ask' in verb
      ? await askApi(http, credentials, { verb, input }, around)
      : await verb.askKeystone({
          keystone: createKeystone(http, credentials.authUrl, await logIn(http, credentials)),
          input,
          region: credentials.region,
          environment: around.environment,
          readFile: around.readFile,
        });
  const format = formatOf(input);
  for (const line of printedLines(shown, input, around.width)) {
    if (format === 'table') around.show(line);
    else around.out(format === 'value' ? oneLine(line) : line);
  }
  return shown.exitCode ?? exitCodes.done;
}

async function askApi(
  http: Http,
  credentials: Credentials,
  { verb, input }: { readonly verb: ApiVerb; readonly input: Input },
  around: Surroundings,
): Promise<Shown> {
  const session = await signIn(http, credentials);
  // A token lasts for an hour or so, and some verbs wait longer.
  const api = createApi(http, session, () => signIn(http, credentials));
  const keystone = createKeystone(http, credentials.authUrl, session);
  const say = (line: string) => around.err(oneLine(line));
  return verb.ask(api, await withProjectIds(verb, input, keystone), { ...around, say });
}

function findCredentials(input: Input, { environment, readFile }: Surroundings) {
  const options = Object.fromEntries(
    Object.keys(connectionOptions).map((name) => [
      name.replace(/^os-/, '').replaceAll('-', '_'),
      input.text(name),
    ]),
  );
  const hasOwn = options.auth_url !== undefined;
  const name = options.cloud ?? (environment.OS_CLOUD || undefined);
  const cloud = name === undefined && hasOwn ? undefined : readCloud(name, environment, readFile);
  return readCredentials({ options, environment, cloud });
}

function toFailure(error: unknown): { readonly exitCode: number; readonly sentence: string } {
  if (error instanceof CommandFailed) {
    return { exitCode: error.exitCode, sentence: sentence(error.message) };
  }
  if (error instanceof ServiceUnavailable) {
    return { exitCode: exitCodes.unreachable, sentence: sentence(error.message) };
  }
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { exitCode: exitCodes.failed, sentence: sentence(`Unhandled exception: ${text}`) };
}

function sentence(text: string): string {
  return printable(text).replaceAll(/\s+/g, ' ').trim();
}
