import { expect, it } from 'vitest';
import { trackProgress } from '#agent/broker/job-progress.ts';
import { aClock } from '#test/support/hosts/agent.ts';

function aTracker() {
  const clock = aClock();
  const sent: object[] = [];
  const send = async (details: object) => void sent.push(details);
  return { clock, sent, progress: trackProgress({ steps: 3, clock, send }) };
}

it('reports the newest progress, at most every other second', async () => {
  const { clock, sent, progress } = aTracker();
  for (let percent = 0; percent <= 100; percent += 1) {
    progress.report(1, percent);
    await clock.advance(50);
  }
  await clock.advance(2000);
  expect(sent).toEqual([
    { step: '1/3', percent: '39' },
    { step: '1/3', percent: '79' },
    { step: '1/3', percent: '100' },
  ]);
});

it('reports nothing of a short step, and nothing after the stop', async () => {
  const { clock, sent, progress } = aTracker();
  progress.report(1, 0);
  await progress.stop();
  progress.report(2, 50);
  await clock.advance(10_000);
  expect(sent).toEqual([]);
});

it.each([
  [-5, '0'],
  [12.6, '13'],
  [250, '100'],
])('tells %d percent as %s', async (percent, text) => {
  const { clock, sent, progress } = aTracker();
  progress.report(2, percent);
  await clock.advance(2000);
  expect(sent).toEqual([{ step: '2/3', percent: text }]);
});
