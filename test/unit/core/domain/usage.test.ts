import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Assignment, type Span, sumUsage } from '#core/domain/quota/usage.ts';

const dayMs = 24 * 60 * 60 * 1000;
const start = Date.parse('2026-03-01T00:00:00.000Z');

/** Assignments of one handle, as claims and releases make them: one after the other. */
const ofHandle = fc
  .array(
    fc.record({
      idleMs: fc.oneof(fc.constant(0), fc.nat(dayMs)),
      usedMs: fc.oneof(fc.constant(0), fc.nat(3 * dayMs)),
      projectId: fc.constantFrom('one', 'two'),
      resourceClass: fc.constantFrom('VGPU', 'FPGA'),
    }),
    { maxLength: 6 },
  )
  .map((parts) => {
    let at = start;
    return parts.map(({ idleMs, usedMs, ...held }): Assignment => {
      const fromMs = at + idleMs;
      at = fromMs + usedMs;
      return { ...held, fromMs, toMs: at };
    });
  });
const assignments = fc.array(ofHandle, { maxLength: 4 });
const moment = fc.nat(12 * dayMs).map((ms) => start + ms);
const sumOf = (all: readonly Assignment[], span: Span) =>
  sumUsage(all, span).reduce((sum, { acceleratorMs }) => sum + acceleratorMs, 0);

describe('usage', () => {
  it('of a time is the sum of the usage of its parts', () => {
    fc.assert(
      fc.property(
        assignments,
        fc.array(moment, { minLength: 2, maxLength: 6 }),
        (handles, cuts) => {
          const all = handles.flat();
          const edges = [...cuts].sort((a, b) => a - b);
          const parts = edges
            .slice(1)
            .map((toMs, at) => sumOf(all, { fromMs: edges[at] ?? 0, toMs }));
          const whole = { fromMs: edges[0] ?? 0, toMs: edges.at(-1) ?? 0 };
          expect(parts.reduce((sum, each) => sum + each, 0)).toBe(sumOf(all, whole));
        },
      ),
    );
  });

  it('of a handle is never more than the time that has passed', () => {
    fc.assert(
      fc.property(ofHandle, moment, moment, (all, one, other) => {
        const span = { fromMs: Math.min(one, other), toMs: Math.max(one, other) };
        expect(sumOf(all, span)).toBeLessThanOrEqual(span.toMs - span.fromMs);
      }),
    );
  });

  it('counts each millisecond in which an accelerator was used, and no other', () => {
    const small = fc.array(
      fc.record({ from: fc.nat(20), length: fc.nat(20) }).map(({ from, length }): Assignment => {
        const fromMs = start - 10 + from;
        const held = { projectId: 'one', resourceClass: 'VGPU' };
        return { ...held, fromMs, toMs: fromMs + length };
      }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(small, fc.nat(30), fc.nat(30), (all, from, length) => {
        const span = { fromMs: start - 15 + from, toMs: start - 15 + from + length };
        let counted = 0;
        for (let ms = span.fromMs; ms < span.toMs; ms++) {
          counted += all.filter(({ fromMs, toMs }) => fromMs <= ms && ms < toMs).length;
        }
        expect(sumOf(all, span)).toBe(counted);
      }),
    );
  });

  it('is divided by project, resource class and day in UTC', () => {
    const span = { fromMs: start, toMs: start + 10 * dayMs };
    const held = { resourceClass: 'VGPU', fromMs: start + dayMs - 1000, toMs: start + dayMs + 500 };
    expect(
      sumUsage(
        [
          { projectId: 'b', ...held },
          { projectId: 'a', ...held },
        ],
        span,
      ),
    ).toEqual(
      ['a', 'b'].flatMap((projectId) => [
        { projectId, resourceClass: 'VGPU', day: '2026-03-01', acceleratorMs: 1000 },
        { projectId, resourceClass: 'VGPU', day: '2026-03-02', acceleratorMs: 500 },
      ]),
    );
  });
});
