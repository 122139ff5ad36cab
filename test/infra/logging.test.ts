import { describe, expect, it } from 'vitest';
import { access, type FunctionName } from '#infra/access.ts';
import { synthesize } from '#infra/privileges/synthesized.ts';

const names = Object.keys(access) as FunctionName[];

function loggingOf(context: Readonly<Record<string, string>>): unknown[] {
  const stack = synthesize(context);
  const configs = names.map((name) => {
    const { LogGroup: _group, ...config } = stack.functionNamed(name).properties.LoggingConfig;
    return JSON.stringify(config);
  });
  return [...new Set(configs)].map((config) => JSON.parse(config));
}

describe('the logs of the functions', () => {
  it("have Lambda's own lines only of invocations that fail", () => {
    expect(loggingOf({})).toEqual([
      { LogFormat: 'JSON', ApplicationLogLevel: 'INFO', SystemLogLevel: 'WARN' },
    ]);
  });

  it('have all of them while someone debugs', () => {
    expect(loggingOf({ logLevel: 'DEBUG' })).toEqual([
      { LogFormat: 'JSON', ApplicationLogLevel: 'DEBUG', SystemLogLevel: 'DEBUG' },
    ]);
  });

  it.each(['WARN', 'ERROR'])(
    'keep the lines of metrics, which have no level, at %s',
    (logLevel) => {
      expect(loggingOf({ logLevel })).toEqual([{ LogFormat: 'Text' }]);
    },
  );
});
