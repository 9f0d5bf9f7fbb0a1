/** Recordings as files: zstd compression, and bytes by file descriptor. */
import { closeSync, fstatSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LineError } from '../../recording/fields.ts';
import type { Compression } from '../../recording/frames.ts';
import { readRecording, type Recording } from '../../recording/read.ts';
import { StartError } from '../usage.ts';

export const ZSTD: Compression = {
  compress: (bytes) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 6 } }),
  decompress: (bytes, bytesMax) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, bytesMax) }),
  crc32: (bytes) => crc32(bytes),
};

export interface RecordingFile {
  /**
   * Waits for the disk, so at most one frame is not written yet. After a write that has failed it does nothing, because
   * a part of a frame may be written, and nothing behind it could be read.
   */
  readonly write: (bytes: Uint8Array) => void;
  /** Why something could not be written, such as a full disk; '' = everything could. */
  readonly failure: () => string;
  readonly close: () => void;
  readonly remove: () => void;
}

/**
 * A new file that only its owner may read.
 * @throws StartError if a file of that name exists, or it cannot be made
 */
export function createRecordingFile(path: string): RecordingFile {
  const file = opened(path, 'wx');
  let failure = '';
  const trying = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      failure ||= `cannot write ${path}: ${(error as Error).message}`;
    }
  };
  return {
    write(bytes) {
      if (failure !== '') return;
      trying(() => {
        for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
      });
    },
    failure: () => failure,
    // A file system of another machine may say only now that it is full.
    close: () => trying(() => closeSync(file)),
    remove: () => trying(() => unlinkSync(path)),
  };
}

/**
 * @param use gets the recording, and must not use it after it has returned
 * @throws StartError if the file cannot be read, or is no recording that this program can read
 */
export function withRecording<T>(path: string, use: (recording: Recording) => T): T {
  const file = opened(path, 'r');
  try {
    const { size } = fstatSync(file);
    return use(
      readRecording((at, bytes) => {
        const part = Buffer.alloc(Math.max(0, Math.min(bytes, size - at)));
        return part.subarray(0, part.length === 0 ? 0 : readInto(part, file, at, path));
      }, ZSTD),
    );
  } catch (error) {
    if (error instanceof LineError) throw new StartError(`cannot read ${path}: ${error.message}`, { cause: error });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Returns how many bytes were read. @throws StartError, for example because the file is a directory */
function readInto(part: Uint8Array, file: number, at: number, path: string): number {
  try {
    return readSync(file, part, 0, part.length, at);
  } catch (error) {
    throw new StartError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function opened(path: string, flags: 'r' | 'wx'): number {
  try {
    return openSync(path, flags, 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'the file exists, and a recording is never overwritten' : message;
    throw new StartError(`cannot ${flags === 'r' ? 'open' : 'make'} ${path}: ${why}`, { cause: error });
  }
}
