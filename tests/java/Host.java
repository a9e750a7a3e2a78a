/* SPDX-License-Identifier: Apache-2.0 */
import android.graphics.Bitmap;
import java.io.FileOutputStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * An application with bitmaps, of the arguments KIND:WIDTHxHEIGHT. It runs no code but when a line comes on its standard
 * input, as an application on Android when a call comes through binder: for an empty one it prints a line ("beat N"),
 * with the name of a folder it writes there what a debugger should get. It ends with its input.
 */
final class Host {
	/** In a class of its own, so that without bitmaps Bitmap is never loaded. */
	private static final class Bitmaps {
		private final List<Bitmap> list = new ArrayList<>();

		void make(String argument) throws InterruptedException {
			final String[] parts = argument.split("[:x]");
			list.add(new Bitmap(parts[0], Integer.parseInt(parts[1]), Integer.parseInt(parts[2])));
			if (parts[0].equals("locked"))
				Bitmap.lock();
		}

		void write(String folder) throws Exception {
			for (Bitmap bitmap : list)
				if (bitmap.isDrawable())
					try (FileOutputStream stream = new FileOutputStream(folder + "/" + bitmap.name())) {
						bitmap.write(stream);
					}
		}
	}

	private static WeakReference<Object> garbage() {
		return new WeakReference<>(new byte[1 << 16]);
	}

	public static void main(String[] arguments) throws Exception {
		final WeakReference<Object> garbage = garbage();
		final Bitmaps bitmaps = arguments.length > 0 ? new Bitmaps() : null;
		javax.imageio.ImageIO.setUseCache(false);
		for (String argument : arguments)
			bitmaps.make(argument);
		final StringBuilder line = new StringBuilder();
		System.out.println("ready");
		for (int beat = 0;;) {
			final int c = System.in.read();
			if (c < 0)
				break;
			if (c != '\n') {
				line.append((char) c);
				continue;
			}
			if (line.length() > 0) {
				bitmaps.write(line.toString());
				System.out.println("written");
			} else {
				System.out.println("beat " + ++beat + (garbage.get() == null ? ", garbage was collected" : ""));
			}
			line.setLength(0);
		}
	}
}
