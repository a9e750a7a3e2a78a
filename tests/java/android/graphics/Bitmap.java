/* SPDX-License-Identifier: Apache-2.0 */
package android.graphics;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.OutputStream;
import javax.imageio.ImageIO;

/**
 * Stands in for Android's class of this name in a Java virtual machine: the fields and the method that a debugger uses,
 * and a real PNG. What it does is told by its kind:
 * usual, noise (does not compress), recycled, nothing (no native bitmap), throws, refuses (compress() returns false),
 * wrong (another size), prose (no PNG), cut (the PNG's end is missing), slow (sleeps for -Dsleep ms), locked (another thread
 * must run first), dies (the process is killed; exit() inside of
 * a debugger's call never returns).
 */
public final class Bitmap {
	public enum CompressFormat {
		JPEG(0), PNG(1), WEBP(2);

		final int nativeInt;

		CompressFormat(int nativeInt) {
			this.nativeInt = nativeInt;
		}
	}

	private static final long FIRST = 0xb400007b90001000L;
	private static int made;

	private final long mNativePtr;
	private final int mWidth, mHeight;
	private boolean mRecycled;
	private final String kind;

	public Bitmap(String kind, int width, int height) {
		this.kind = kind;
		final long pointer = FIRST + 0x100L * made++;
		mNativePtr = kind.equals("nothing") ? 0 : (long) pointer;
		mWidth = width;
		mHeight = height;
		mRecycled = kind.equals("recycled");
	}

	private static BufferedImage image(int width, int height, boolean noise) {
		final BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
		int random = width + height;
		for (int y = 0; y < height; y++)
			for (int x = 0; x < width; x++) {
				random = random * 1664525 + 1013904223;
				image.setRGB(x, y, noise ? random : 0xff000000 | x * 0x10203 ^ y);
			}
		return image;
	}

	/** What the debugger should get. */
	public void write(OutputStream stream) throws IOException {
		ImageIO.write(image(mWidth, mHeight, kind.equals("noise")), "png", stream);
	}

	public boolean isDrawable() {
		return mWidth > 0 && mHeight > 0;
	}

	public String name() {
		return String.format("0x%x.png", mNativePtr);
	}

	public boolean compress(CompressFormat format, int quality, OutputStream stream) throws Exception {
		if (format != CompressFormat.PNG || quality != 100)
			throw new IllegalArgumentException(format + " " + quality);
		switch (kind) {
		case "throws":
			throw new IllegalStateException("Can't compress a recycled bitmap");
		case "refuses":
			return false;
		case "wrong":
			ImageIO.write(image(mWidth + 1, mHeight, false), "png", stream);
			return true;
		case "prose":
			stream.write("no picture".getBytes());
			return true;
		case "cut":
			final java.io.ByteArrayOutputStream whole = new java.io.ByteArrayOutputStream();
			write(whole);
			stream.write(whole.toByteArray(), 0, whole.size() - 1);
			return true;
		case "slow":
			Thread.sleep(Integer.getInteger("sleep"));
			break;
		case "locked":
			Lock.pass();
			break;
		case "dies":
			new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid())).start().waitFor();
		}
		write(stream);
		return true;
	}

	/**
	 * A lock that a thread of its own always holds, until somebody wants it: as a bitmap of Android's HARDWARE kind is read
	 * back by the render thread.
	 */
	private static final class Lock {
		private static final Object lock = new Object(), bell = new Object();
		private static boolean held, wanted, passed;

		static {
			final Thread thread = new Thread(Lock::hold, "render");
			thread.setDaemon(true);
			thread.start();
		}

		private static void hold() {
			try {
				for (;;) {
					synchronized (lock) {
						synchronized (bell) {
							held = true;
							bell.notifyAll();
							while (!wanted)
								bell.wait();
							wanted = held = false;
						}
					}
					synchronized (bell) {
						while (!passed)
							bell.wait();
						passed = false;
					}
				}
			} catch (InterruptedException e) {
				throw new IllegalStateException(e);
			}
		}

		static void pass() throws InterruptedException {
			synchronized (bell) {
				while (!held)
					bell.wait();
				wanted = true;
				bell.notifyAll();
			}
			synchronized (lock) {
				synchronized (bell) {
					passed = true;
					bell.notifyAll();
				}
			}
		}
	}

	/** Starts that thread. */
	public static void lock() throws InterruptedException {
		Lock.pass();
	}
}
