const latin1Slice = Buffer.prototype.latin1Slice;
const utf8Slice = Buffer.prototype.utf8Slice;

/** A flat string of `bytes[start, end)`, one character a byte: it does not keep the bytes alive. */
export function latin1(bytes: Uint8Array, start: number, end: number): string {
  return latin1Slice.call(bytes, start, end);
}

/** Whether `latin1` of the bytes from `start` on is `text`. */
export function spells(text: string, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** A flat string of the UTF-8 in `bytes[start, end)`; what is not UTF-8 becomes U+FFFD. */
export function utf8(bytes: Uint8Array, start: number, end: number): string {
  return utf8Slice.call(bytes, start, end);
}
