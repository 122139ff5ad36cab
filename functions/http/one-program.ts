import * as z from 'zod';

/**
 * A list of one operation. The specification lets a request have several; each here takes its
 * device for itself, so the second one is named and refused.
 */
export function oneProgram<Operation extends z.ZodType>(operation: Operation) {
  return z.tuple([operation], z.unknown()).superRefine(([_, second], context) => {
    if (second === undefined) return;
    const path = (second as { path?: unknown } | null)?.path;
    context.addIssue({
      code: 'custom',
      path: [1],
      message: `${JSON.stringify(path)} must be sent in a request of its own, after the first has ended`,
    });
  });
}
